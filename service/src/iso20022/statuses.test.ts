/** The table of statuses: complete by the schemas that list them, and consistent. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { samplesFolder } from '../../../test/support/samples.ts'
import { statuses, statusOf } from './index.ts'

test('ends are final, and only results for payees have a result', () => {
  for (const [code, { meaning, isFinal, text, payee }] of Object.entries(statuses)) {
    assert.equal(isFinal, ['settled', 'rejected', 'blocked'].includes(meaning), code)
    assert.equal(payee !== undefined, meaning === 'checked', code)
    assert.match(text, /^[A-Z].*\.$/, code)
  }
  assert.deepEqual(
    ['RCVC', 'RVMC', 'RVNM', 'RVNA', 'RVCM', 'RVNC', 'ACFC', 'ACIS', 'BLCK'].map((code) => statusOf(code)?.meaning),
    ['checked', 'checked', 'checked', 'checked', 'part', 'part', 'accepted', 'accepted', 'blocked'],
  )
  for (const code of ['', 'XXXX', 'toString', '__proto__']) assert.equal(statusOf(code), undefined)
})

test(
  'every status that a schema lists has a meaning',
  { skip: samplesFolder === undefined ? 'SAMPLES_DIR is not set: it has the official schemas' : false },
  () => {
    for (const version of ['03', '04', '05', '06', '07']) {
      const schema = readFileSync(
        join(samplesFolder ?? '', 'iso20022', 'schemas', `pain.002.001.${version}.xsd`),
        'utf8',
      )
      const lists = [...schema.matchAll(/name="Transaction\w*Status\dCode">([\s\S]*?)<\/xs:simpleType>/g)]
      const codes = lists.flatMap(([, list = '']) =>
        [...list.matchAll(/enumeration value="(\w+)"/g)].map(([, code = '']) => code),
      )
      assert.ok(codes.length > 5 || version > '05', version)
      for (const code of codes) assert.ok(statusOf(code), `${code} of version ${version}`)
    }
  },
)
