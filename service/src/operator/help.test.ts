import assert from 'node:assert/strict'
import { test } from 'node:test'
import { helpOf } from './index.ts'

test('--help shows all commands, those of a group, or one with all its lines', () => {
  assert.equal(helpOf(['case', 'list']), undefined)
  const linesOf = (...args: readonly string[]) => (helpOf(args) ?? '').split('\n').slice(1)
  assert.ok(linesOf('--help').length > 50)
  assert.deepEqual(linesOf('case', 'list', '--help'), ['  operator case list'])
  assert.deepEqual(linesOf('no', 'such', '--help'), linesOf('--help'))
  const backups = linesOf('backup', '--help')
  assert.equal(backups.length, 2)
  for (const line of backups) assert.match(line, /^ {2}operator backup /)
  assert.match(linesOf('limit', 'set', '--help')[1] ?? '', /^ {4}\[--customer ID/)
})
