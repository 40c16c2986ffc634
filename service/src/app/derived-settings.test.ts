import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewaySettings } from '../edge/gateway/settings.ts'
import { hstsAt } from './derived-settings.ts'

test('Strict-Transport-Security follows the scheme of the URL, or the setting of the operator', () => {
  const { read } = gatewaySettings.HSTS_SECONDS
  for (const [text, url, header] of [
    [undefined, 'https://pay.example.com', 'max-age=31536000'],
    [undefined, 'http://127.0.0.1:8080', undefined],
    ['0', 'https://pay.example.com', 'max-age=0'],
    ['300', 'https://pay.example.com', 'max-age=300'],
    ['300', 'http://127.0.0.1:8080', 'max-age=300'],
  ] as const)
    assert.equal(hstsAt({ HSTS_SECONDS: read(text) }, url), header, `${text} ${url}`)
  for (const text of ['-1', '1.5', 'on', '63072001']) assert.throws(() => read(text), /whole number/)
})
