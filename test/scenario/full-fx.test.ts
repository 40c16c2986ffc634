/** The exchange of the full demo, against a service. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { type Credentials, createClient } from '@partner-payments/sdk'
import { exchangeMoney } from '../../examples/demo/full/fx.ts'
import { createUntil } from '../../examples/demo/until.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

test('the exchange of the demo converts, pays in another currency, and every check agrees', async () => {
  const credentials = JSON.parse(readFileSync(service.credentialsFile, 'utf8')) as Credentials
  const client = createClient({ ...credentials, baseUrl: service.baseUrl })
  const lines: string[] = []
  const print = (topic: string, text: string) => void lines.push(`${topic} ${text}`)
  const checks = await exchangeMoney({ client, print, until: createUntil(90_000) })
  assert.equal(checks.length, 4)
  for (const { title, differences } of checks) assert.deepEqual(differences, [], title)
  assert.ok(
    lines.some((line) => line.startsWith('exchange rates by sandbox: GBP ')),
    lines.join('\n'),
  )
})
