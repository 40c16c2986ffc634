/** Forms that a stranger forges: none costs what it claims, and none is an error of the service. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { useSharedService } from '../support/fixture.ts'
import { createAuthenticator } from '../support/passkey.ts'
import { sendForm } from '../support/team.ts'

const service = await useSharedService()

/** `service/src/people/sign-in/passkeys.test.ts` has many more, at the verbs. */
const claims = [{ length: 60_000_000 }, '\0']

/** Credentials that claim to be what they are not, in each place that was once read without a schema. */
function* forged(credential: object): Generator<string> {
  yield JSON.stringify({ id: 'AA', response: { clientDataJSON: { length: 60_000_000 } } })
  for (const claim of claims) {
    yield JSON.stringify(claim)
    for (const name of ['id', 'rawId', 'type', 'response']) yield JSON.stringify({ ...credential, [name]: claim })
    for (const name of [
      'clientDataJSON',
      'authenticatorData',
      'signature',
      'userHandle',
      'attestationObject',
      'transports',
    ]) {
      const response = { ...(credential as { readonly response: object }).response, [name]: claim }
      yield JSON.stringify({ ...credential, response })
    }
  }
}

test('400 when the credential of a sign-in is forged, for a partner that does not exist', async () => {
  const partner = randomUUID()
  const answer = createAuthenticator('https://pay.example.com').get(JSON.stringify({ challenge: 'AAAA' }), partner)
  for (const credential of forged(answer)) {
    const sent = await sendForm(new URL('/console/sign-in/passkey', service.baseUrl), { partner, credential })
    assert.equal(sent.status, 400, credential)
    await sent.text()
  }
})

test('400 when a form or the query of a page has a NUL character', async () => {
  const fields = { email: 'a\0@example.com', partner: 'x\0', token: '\0', password: 'a\0', code: '\0' }
  for (const path of [
    '/console/sign-in/find',
    '/console/sign-in/password',
    '/console/join/password',
    '/console/sign-out',
  ])
    assert.equal((await sendForm(new URL(path, service.baseUrl), fields)).status, 400, path)
  for (const path of ['/console/sign-in?next=%00', '/console/join?token=a%00', '/console/find?q=%00'])
    assert.equal((await fetch(new URL(path, service.baseUrl))).status, 400, path)
  const plain = { email: '100%00 %2500@example.com' }
  assert.equal((await sendForm(new URL('/console/sign-in/find', service.baseUrl), plain)).status, 200)
})
