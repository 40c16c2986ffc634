import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findJsonFault } from './json-position.ts'

const faultOf = (text: string) => {
  const fault = findJsonFault(text)
  return fault && `${fault.line}:${fault.column} ${fault.expected}`
}

test('the position and the expectation of the first fault', () => {
  const cases = [
    { text: '', fault: '1:1 a value' },
    { text: '{', fault: '1:2 a field name in double quotes or "}"' },
    { text: '{"a":}', fault: '1:6 a value' },
    { text: '{"a" 1}', fault: '1:6 ":"' },
    { text: '{"a":1,}', fault: '1:8 a field name in double quotes' },
    { text: "{'a':1}", fault: '1:2 a field name in double quotes or "}"' },
    { text: '{"a":01}', fault: '1:6 a value' },
    { text: '{"a":NaN}', fault: '1:6 a value' },
    { text: '{"a":[1 2]}', fault: '1:9 "," or "]"' },
    { text: '{"a":[1,]}', fault: '1:9 a value' },
    { text: '{"a":[}', fault: '1:7 a value or "]"' },
    { text: '{"a":1', fault: '1:7 "," or "}"' },
    { text: '{}x', fault: '1:3 the end of the body' },
    { text: '{\n  "a": 1,\n  b: 2\n}', fault: '3:3 a field name in double quotes' },
    { text: '{"a":"\\x"}', fault: '1:7 the end of a string, without control characters and with valid escapes' },
    { text: '{"a":"b\n"}', fault: '1:8 the end of a string, without control characters and with valid escapes' },
  ]
  for (const { text, fault } of cases) assert.equal(faultOf(text), fault, text)
})

test('no fault in valid JSON', () => {
  const valid = ['{}', ' [] ', '0', '-1.5e+3', 'null', '"\\u0041\\n\u{1f680}"', '{"a":[1,{"b":true}],"c":"\\""}\n']
  for (const text of valid) {
    JSON.parse(text)
    assert.equal(faultOf(text), undefined, text)
  }
})

test('a body of 256 KiB is scanned in less than a second of processor time', () => {
  const started = process.cpuUsage()
  for (const text of [
    `"${'\\n'.repeat(130_000)}`,
    '['.repeat(262_144),
    `[${'1,'.repeat(131_000)}`,
    `"${'a'.repeat(262_000)}`,
  ])
    assert.ok(findJsonFault(text))
  assert.ok(process.cpuUsage(started).user < 1_000_000)
})
