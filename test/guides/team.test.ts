/** Runs the code of the guide on the team unchanged, and joins by the link that it leads to. */
import assert from 'node:assert/strict'
import { joinByPassword } from '../support/team.ts'
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/team.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide invites a person, who joins by the mailed link and is then listed', async (service) => {
  const text = programOf(guide, 'ts', 2)
  const runs = await runTypeScript(service, text)
  assertLine(runs, /^grace\.\d+@example\.com: Pending$/)
  const [, address = ''] = /^(grace\S+): Pending$/.exec(runs[0]?.[0] ?? '') ?? []
  await joinByPassword(service, address)
  assertLine(await runTypeScript(service, text), /^Grace Hopper signs in with password$/)
})

test('a key with every permission sets single sign-on only if the setting allows it', async (service, mode) => {
  const given = {
    issuer: 'https://id.example',
    clientId: 'console',
    clientSecret: 'secret',
    emailDomain: `${service.credentials.partnerId}.example`,
  }
  const { status, json } = await service.client.put('/v1/users/single-sign-on', given)
  assert.deepEqual([status, json['code']], mode === 'production' ? [403, 'permission_denied'] : [200, undefined])
})
