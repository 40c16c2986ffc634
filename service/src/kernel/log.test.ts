import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { createLog } from './log.ts'

function logged(fields: object): string {
  let text = ''
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString()
      done()
    },
  })
  createLog('debug', destination).error(fields, 'it failed')
  return text
}

test('a database error is logged with code and stack, without the value and the row that it quotes', () => {
  const error = Object.assign(new Error('invalid input syntax for type uuid: "GB33BUKB20201555555555"'), {
    code: '22P02',
    detail: 'Failing row contains (GB33BUKB20201555555555).',
    where: 'unnamed portal parameter $1 = GB33BUKB20201555555555',
  })
  for (const err of [error, new Error('outer', { cause: error })]) {
    const text = logged({ err })
    assert.doesNotMatch(text, /GB33/)
    assert.match(text, /"code":"22P02"/)
    assert.match(text, /log\.test\.ts/)
  }
})

test('secrets are redacted by name down to the second level', () => {
  const text = logged({ apiSecret: 'hidden-1', a: { kyc: { taxId: 'hidden-2' } }, b: { c: { iban: 'hidden-3' } } })
  assert.doesNotMatch(text, /hidden/)
  assert.match(text, /\[redacted\]/)
})

test('an outage is logged without a stack, and so is an error that it caused', () => {
  const outage = Object.assign(new Error('the database cannot be reached'), { name: 'Unreachable' })
  for (const err of [outage, new Error('deposits not expired: 1', { cause: outage })]) {
    const text = logged({ err })
    assert.doesNotMatch(text, /"stack"/)
    assert.match(text, /the database cannot be reached/)
  }
})
