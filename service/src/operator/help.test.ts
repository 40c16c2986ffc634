import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../app/config.ts'
import { requireCommand } from './commands.ts'
import { helpOf } from './help.ts'

test('--help shows all commands, those of a group, or one with all its lines', () => {
  assert.equal(helpOf(['case', 'list']), undefined)
  const linesOf = (...args: readonly string[]) => (helpOf(args) ?? '').split('\n').slice(1)
  assert.ok(linesOf('--help').length > 50)
  for (const flag of ['--help', '-h']) assert.deepEqual(linesOf('case', 'list', flag), ['  operator case list'])
  assert.deepEqual(linesOf('no', 'such', '--help'), linesOf('--help'))
  const backups = linesOf('backup', '--help')
  assert.equal(backups.length, 2)
  for (const line of backups) assert.match(line, /^ {2}operator backup /)
  assert.match(linesOf('limit', 'set', '--help')[1] ?? '', /^ {4}\[--customer ID/)
})

const refusals = [
  [['case', 'lst'], /^operator: no command case lst; did you mean case list\?$/],
  [['payment', 'fnid'], /^operator: no command payment fnid; did you mean payment find\?$/],
  [['backup', 'craete'], /^operator: no command backup craete; did you mean backup create\?$/],
  [['case', 'list', '--partnr', 'x'], /^operator: no option --partnr; did you mean --partner\?$/],
  [['case', 'list', '--curency=EUR'], /^operator: no option --curency; did you mean --currency\?$/],
  [['case', 'list', '--skip-bda'], /^operator: no option --skip-bda; did you mean --skip-bad\?$/],
  [['case', 'list', '--xyz'], /^operator: no option --xyz$/],
  [['no', 'such'], /^operator commands /],
] as const
for (const [args, message] of refusals)
  test(`a mistyped command or option is told what was meant: ${args.join(' ')}`, () =>
    assert.throws(
      () => requireCommand(args),
      (error: unknown) => error instanceof ConfigError && message.test(error.message),
    ))
