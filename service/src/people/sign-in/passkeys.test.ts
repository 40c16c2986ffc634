/** Tests passkeys as browsers send them, and hostile input. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { type CoseChange, createAuthenticator, type Credential } from '../../../../test/support/passkey.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { newId, present, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

const site = 'https://pay.example.com'
const desk = 'https://desk.example.com'
const settings = { PUBLIC_URL: site, DESK_URL: desk }
const service = await useModules({ now: new Date('2026-11-24T08:00:00Z'), settings })

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }

/** Creates a partner with the link of an invitation. */
async function invited() {
  const { users, firstAdmin } = service
  const { caller, partnerId } = await addPartner(service)
  const invite = async () => {
    const email = `${newId()}@example.com`
    await users.createInvitations(caller, { invitations: [{ email, fullName: 'Joan Clarke', role: 'Admin' }] })
    return firstAdmin.invitationOf((await firstAdmin.linkToken(partnerId)) ?? '', email)
  }
  return { caller, partnerId, invite }
}

const staffInvitation = () =>
  service.db.transaction((tx) =>
    service.staff.invite(tx, { email: `${newId()}@example.com`, fullName: 'Sam Support', role: 'support' }),
  )

const text = (credential: unknown) => JSON.stringify(credential)

/** Creates a member who joins with a passkey of an authenticator. */
async function joined(authenticator = createAuthenticator(site)) {
  const { members } = service
  const { partnerId, invite } = await invited()
  const token = await invite()
  const { passkeyOptions } = await members.openInvitation(token)
  const given = { kind: 'passkey', credential: text(authenticator.create(passkeyOptions)) } as const
  const { token: session } = await members.join(token, given, client)
  const signed = present(await members.signedIn(session), 'the member is signed in')
  return { partnerId, signed, authenticator, token }
}

test('a passkey accepts an invitation, signs in and confirms', async () => {
  const { members, signIn } = service
  const { partnerId, signed, authenticator } = await joined()
  const { id } = signed.user
  const options = await signIn.passkeyOptions(partnerId)
  for (const handle of [null, id]) {
    const answer = text(authenticator.get(await signIn.passkeyOptions(partnerId), handle))
    assert.ok(await members.signInByPasskey(partnerId, answer, client))
    assert.equal(await members.signInByPasskey(partnerId, answer, client), undefined, 'again')
  }
  assert.equal(await signIn.verifyPasskey(partnerId, text(authenticator.get(options, newId()))), undefined)
  const asked = { ...signIn.newPrompt(partnerId, id, 'approval'), text: '{"amount":"1000.00"}' }
  const asking = present(await signIn.passkeyOptionsFor(partnerId, id, asked.text), 'the person has a passkey')
  const credential = text(authenticator.get(asking))
  const confirmed = await signIn.confirm(partnerId, id, asked, { kind: 'passkey', credential })
  assert.deepEqual([confirmed?.factor, confirmed?.passkey?.origin], ['passkey', site])
  assert.deepEqual(JSON.parse(asking).allowCredentials[0].transports, ['internal', 'hybrid'])
})

test('joining with a passkey of another member is refused at /credential, also for concurrent joins', async () => {
  const { members, db } = service
  const { partnerId, invite } = await invited()
  const authenticator = createAuthenticator(site)
  const join = async () => {
    const token = await invite()
    const { passkeyOptions } = await members.openInvitation(token)
    return () =>
      members.join(token, { kind: 'passkey', credential: text(authenticator.create(passkeyOptions)) }, client)
  }
  const joins = [await join(), await join(), await join()]
  const ends = await Promise.allSettled(joins.map((work) => work()))
  const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
  assert.equal(failures.length, 2)
  for (const failure of failures) {
    assert.ok(failure instanceof Refusal, String(failure))
    assert.deepEqual([failure.code, failure.errors[0]?.pointer], ['validation_failed', '/credential'])
  }
  const stored = await db.rows(sql`select 1 from sign_in.passkeys where partner_id = ${partnerId}`)
  assert.equal(stored.length, 1)
})

const wrongValues: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 60_000_000, 1e300, '', 'AA', '\0', 'AA\0', '\ud800', 'é', '%00'],
  ...['A'.repeat(20_000), 'A'.repeat(200_000), [], ['AA'], ['\0'], {}, { length: 60_000_000 }],
  ...[{ length: 1e9 }, { length: '9' }, { type: 'Buffer', data: [0] }, { toString: 'x' }, { valueOf: 1 }],
]

test('unknown transports are not stored, and transports that are not a list of texts are refused', async () => {
  const { db, members } = service
  const join = async (transports: unknown) => {
    const { partnerId, invite } = await invited()
    const token = await invite()
    const made = createAuthenticator(site).create((await members.openInvitation(token)).passkeyOptions)
    const credential = text({ ...made, response: { ...made.response, transports } })
    await members.join(token, { kind: 'passkey', credential }, client)
    const rows = await db.rows<{ readonly transports: readonly string[] }>(
      sql`select transports from sign_in.passkeys where partner_id = ${partnerId}`,
    )
    return rows.map((row) => row.transports)
  }
  assert.deepEqual(await join(['usb', 'telepathy', 'nfc']), [['usb', 'nfc']])
  for (const none of [[], ['AA'], undefined]) assert.deepEqual(await join(none), [[]])
  for (const wrong of wrongValues.filter((value) => value !== undefined && !isListOf(value)))
    await assert.rejects(join(wrong), (error) => error instanceof Refusal && error.errors[0]?.pointer === '/credential')
})

test('a passkey whose key cannot be verified, exported or stored is refused when it is created', async () => {
  const { members } = service
  const { invite } = await invited()
  const token = await invite()
  const { passkeyOptions } = await members.openInvitation(token)
  const rsa = (modulusLength: number): CoseChange => {
    const { n = '' } = generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })
    return [
      ...[
        [1, 3],
        [3, -257],
      ],
      [-1, Buffer.from(n, 'base64url')],
      [-2, Buffer.of(1, 0, 1)],
    ] as CoseChange
  }
  const ofCurve = (curve: string, label: number): CoseChange => {
    const key = generateKeyPairSync('ec', { namedCurve: curve }).publicKey.export({ format: 'jwk' })
    return [
      [-1, label],
      [-2, Buffer.from(key.x ?? '', 'base64url')],
      [-3, Buffer.from(key.y ?? '', 'base64url')],
    ]
  }
  const join = (made: Parameters<typeof createAuthenticator>[1]) => {
    const credential = text(createAuthenticator(site, made).create(passkeyOptions))
    return members.join(token, { kind: 'passkey', credential }, client)
  }
  const wrong: Readonly<Record<string, Parameters<typeof createAuthenticator>[1]>> = {
    'a curve that approvals do not support': { coseChange: ofCurve('P-384', 2) },
    'a longer curve': { coseChange: ofCurve('P-521', 3) },
    'a point off its curve': {
      coseChange: [
        [-2, Buffer.alloc(32, 7)],
        [-3, Buffer.alloc(32, 9)],
      ],
    },
    'a text for a coordinate': { coseChange: [[-2, 'text']] },
    'a number for a coordinate': { coseChange: [[-2, 600]] },
    'another type of key': { coseChange: [[1, 9]] },
    'a short RSA key': { coseChange: rsa(1024) },
    'an endless modulus': {
      coseChange: [
        [1, 3],
        [3, -257],
        [-1, Buffer.alloc(9000, 0xff)],
        [-2, Buffer.alloc(99, 1)],
      ],
    },
    'an id too long for an index': { id: randomBytes(5000), namedId: Buffer.of(1) },
    "an id other than the form's": { id: randomBytes(32), namedId: randomBytes(32) },
  }
  for (const [name, made] of Object.entries(wrong))
    await assert.rejects(
      join(made),
      (error) => error instanceof Refusal && error.errors[0]?.pointer === '/credential',
      name,
    )
  assert.ok(await join({ coseChange: rsa(2048), id: randomBytes(1023) }))
})

/** Lists of wrong values. */
const isListOf = (value: unknown) => Array.isArray(value) && !value.includes('\0')

type Json = Readonly<Record<string, unknown>>

/** Yields the object with each field, including nested ones, replaced by each wrong value. */
function* mutationsOf(given: Json): Generator<unknown> {
  yield* wrongValues
  for (const [name, value] of Object.entries(given)) {
    for (const wrong of wrongValues) yield { ...given, [name]: wrong }
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const inner of mutationsOf(value as Json)) yield { ...given, [name]: inner }
  }
}

/** Yields mutations of the credential and of its Base64 client data. */
function* hostile(credential: Credential): Generator<string> {
  const clientData = JSON.parse(
    Buffer.from(String(credential.response['clientDataJSON']), 'base64url').toString(),
  ) as Json
  for (const each of mutationsOf(clientData)) {
    const clientDataJSON = Buffer.from(JSON.stringify(each) ?? '').toString('base64url')
    yield JSON.stringify({ ...credential, response: { ...credential.response, clientDataJSON } })
  }
  // Last, because the service accepts a credential without transports.
  for (const each of mutationsOf(credential)) yield JSON.stringify(each) ?? ''
}

const notCredentials = [
  '',
  '{',
  'null',
  '[]',
  '"x"',
  `${'['.repeat(8000)}${']'.repeat(8000)}`,
  '{"__proto__":{"id":"AA"}}',
]

test('no input makes a passkey form fail with an error, and only texts are decoded', async (t) => {
  const { members, factors, signIn, staff } = service
  const { partnerId, signed, authenticator } = await joined()
  const { caller, invite, partnerId: other } = await invited()
  const token = await invite()
  const { id } = signed.user
  const invitation = await members.openInvitation(token)
  const factorPage = await factors.enrolment(signed)
  const { token: staffToken } = await staffInvitation()
  const staffPage = await staff.openInvitation(staffToken)
  const { token: recovery, options: recoveryOptions } = await recoveryOf(other, await invite(), caller.name)
  const confirmation = { ...signIn.newPrompt(partnerId, id, 'approval'), text: '{}' }
  const passkeyOf = (credential: string) => ({ kind: 'passkey', credential }) as const
  const at = createAuthenticator(desk)
  const forms: Readonly<Record<string, readonly [Credential, (given: string) => Promise<unknown>]>> = {
    join: [authenticator.create(invitation.passkeyOptions), (given) => members.join(token, passkeyOf(given), client)],
    register: [
      authenticator.create(factorPage.passkeyOptions),
      (given) => factors.add(signed, factorPage.nonce, passkeyOf(given), client),
    ],
    recover: [
      authenticator.create(recoveryOptions),
      (given) => members.recoveries.complete(recovery, passkeyOf(given), client),
    ],
    'join the desk': [at.create(staffPage.passkeyOptions), (given) => staff.join(staffToken, passkeyOf(given), client)],
    'sign in': [
      authenticator.get(await signIn.passkeyOptions(partnerId), id),
      (given) => members.signInByPasskey(partnerId, given, client),
    ],
    'sign in at an unknown partner': [
      authenticator.get(await signIn.passkeyOptions(partnerId)),
      (given) => members.signInByPasskey(newId(), given, client),
    ],
    'sign in at the desk': [at.get(await staff.passkeyOptions()), (given) => staff.signInByPasskey(given, client)],
    approve: [
      authenticator.get(present(await signIn.passkeyOptionsFor(partnerId, id, '{}'), 'the person has a passkey')),
      (given) => signIn.confirm(partnerId, id, confirmation, passkeyOf(given)),
    ],
  }
  const from = t.mock.method(Buffer, 'from')
  let sent = 0
  for (const [name, [credential, send]] of Object.entries(forms))
    for (const given of [...notCredentials, ...hostile(credential)]) {
      sent += 1
      const shown = `${name}: ${given.slice(0, 300)}`
      const failure = await send(given).then(
        () => undefined,
        (error: unknown) => error,
      )
      assert.ok(failure === undefined || failure instanceof Refusal, `${shown}: ${String(failure)}`)
    }
  assert.ok(sent > 3000, String(sent))
  const strange = from.mock.calls.filter(({ arguments: [value] }) => {
    const made: unknown = value
    return (
      typeof made === 'object' && !ArrayBuffer.isView(made) && !(made instanceof ArrayBuffer) && !Array.isArray(made)
    )
  })
  assert.deepEqual(strange, [])
  assert.ok(from.mock.calls.length > 0)
})

/** Creates a recovery link for a member who joined by an invitation. */
async function recoveryOf(partnerId: string, token: string, staffName: string) {
  const { members, mailQueue, db, clock } = service
  const { totpSecret, email } = await members.openInvitation(token)
  const code = codeOf(totpSecret, clock.now().getTime())
  await members.join(token, { kind: 'password', password, code }, client)
  await db.transaction((tx) =>
    members.recoveries.begin(tx, partnerId, { email, staff: staffName, reason: 'Lost phone' }),
  )
  clock.advance(24 * 3600 * secondMs)
  assert.equal(await members.recoveries.step(), 1)
  const mails = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 3600 * secondMs, 100))
  const mail = present(
    mails.find(({ kind }) => kind === 'recovery_link'),
    'the link is mailed',
  )
  const link = present(mailQueue.secretOf(mail), 'the link has a token')
  return { token: link, options: (await members.recoveries.opened(link)).passkeyOptions }
}
