import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { hourMs, minuteMs, newId, randomBytes, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { refuseWeakPassword } from './passwords.ts'
import { newChallenge, readChallenge, readRecoveryCode, recoveryCodeOf, stepOfCode, totpSecretOf } from './rules.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
const given = { email: 'joan@example.com', fullName: 'Joan Clarke', partnerName: 'Acme' }

/** A member with a password, and what the authenticator app of the member knows. */
async function addMember(partnerId: string) {
  const { signIn, db, clock } = service
  const invited = { ...given, memberId: newId(), seed: Buffer.from(randomBytes(32)) }
  const { totpSecret: secret } = await signIn.enrolment(invited)
  const code = () => codeOf(secret, clock.now().getTime())
  const factor = await signIn.prove(invited, { kind: 'password', password, code: code() })
  const codes = await db.transaction((tx) => signIn.enrol(tx, partnerId, invited.memberId, factor))
  return { id: invited.memberId, secret, code, codes, invited }
}

async function open(partnerId: string, memberId: string): Promise<string> {
  const { db, signIn } = service
  const opened = await db.transaction((tx) => signIn.open(tx, partnerId, memberId, { ...client, factor: 'password' }))
  return opened.token
}

test('codes are those of RFC 6238, appendix B, and are accepted one step early or late and once', () => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  for (const [seconds, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
  ] as const) {
    const at = new Date(seconds * secondMs)
    const step = BigInt(Math.floor(seconds / 30))
    assert.equal(stepOfCode(secret, code, at, 0n), step)
    assert.equal(stepOfCode(secret, code, new Date(at.getTime() + 30 * secondMs), 0n), step)
    assert.equal(stepOfCode(secret, code, at, step), undefined)
    assert.equal(stepOfCode(secret, code, new Date(at.getTime() + 90 * secondMs), 0n), undefined)
  }
})

test('a challenge can be answered for its partner until its time, and is not made by others', () => {
  const key = randomBytes(32)
  const until = new Date('2026-11-24T08:10:00Z')
  const [partnerId, before] = [newId(), new Date(until.getTime() - 1)]
  const challenge = newChallenge(key, partnerId, randomBytes(16), until)
  assert.deepEqual(readChallenge(key, partnerId, challenge, before), until)
  assert.equal(readChallenge(key, partnerId, challenge, until), undefined)
  assert.equal(readChallenge(key, newId(), challenge, before), undefined)
  assert.equal(readChallenge(randomBytes(32), partnerId, challenge, before), undefined)
  for (const at of [0, 20, 53]) {
    const changed = Uint8Array.from(challenge, (byte, index) => (index === at ? byte ^ 1 : byte))
    assert.equal(readChallenge(key, partnerId, changed, before), undefined)
  }
  assert.equal(readChallenge(key, partnerId, challenge.slice(1), before), undefined)
})

test('a recovery code is read however it is typed', () => {
  const code = recoveryCodeOf(Uint8Array.from({ length: 32 }, (_, at) => at * 7))
  assert.match(code, /^[a-z2-9]{4}(?:-[a-z2-9]{4}){3}$/)
  assert.equal(readRecoveryCode(` ${code.toUpperCase()} `), code.replaceAll('-', ''))
  for (const text of ['', '123456', 'abcd-efgh-jkmn-pqr', 'abcd-efgh-jkmn-pqro'])
    assert.equal(readRecoveryCode(text), undefined)
})

test('400 to a password that is short, common or made of the own name, and to a wrong code', async () => {
  const invited = { ...given, memberId: newId(), seed: Buffer.from(randomBytes(32)) }
  const { totpSecret } = await service.signIn.enrolment(invited)
  const code = codeOf(totpSecret, service.clock.now().getTime())
  const refused = async (chosen: string, sent = code) => {
    const error = await service.signIn
      .prove(invited, { kind: 'password', password: chosen, code: sent })
      .catch((e) => e)
    assert.ok(error instanceof Refusal, chosen)
    return error.errors.map(({ pointer, message }) => `${pointer} ${message}`).join()
  }
  assert.match(await refused('short'), /^\/password must have at least 12/)
  assert.match(await refused('x'.repeat(129)), /^\/password must have at most 128/)
  for (const chosen of ['password1234', 'aaaaaaaaaaaaaaaa', 'qwertyuiop123', 'joanclarkejoan'])
    assert.match(await refused(chosen), /^\/password is easy to guess/)
  assert.match(await refused(password, '000000'), /^\/code/)
  await service.signIn.prove(invited, { kind: 'password', password, code: `${code.slice(0, 3)} ${code.slice(3)}` })
})

test('a long password is judged by its beginning, which a longer one is at least as hard to guess as', async () => {
  const person = { email: 'joan@example.com', fullName: 'Joan Clarke' }
  const strong = 'meadow-lamp-42-river'
  await refuseWeakPassword(strong.padEnd(128, 'a'), person)
  await refuseWeakPassword(`${'a'.repeat(28)}${strong}`, person)
  const weak = refuseWeakPassword('a'.repeat(48) + strong, person)
  await assert.rejects(weak, (error) => error instanceof Refusal && error.errors[0]?.pointer === '/password')
})

test('a password signs in with the code of the app, each code once, also when it is sent twenty times at once', async () => {
  const { partnerId } = await addPartner(service)
  const { id, code } = await addMember(partnerId)
  const { signIn, clock } = service
  assert.equal(
    await signIn.byPassword(partnerId, id, { password, code: code() }),
    'refused',
    'the code of the enrolment',
  )
  clock.advance(30 * secondMs)
  const same = { password, code: code() }
  const answers = await Promise.all(Array.from({ length: 4 }, () => signIn.byPassword(partnerId, id, same)))
  assert.equal(answers.filter((verdict) => verdict === 'code').length, 1)
  clock.advance(30 * secondMs)
  assert.equal(await signIn.byPassword(partnerId, id, { password, code: code() }), 'code')
  assert.equal(
    await signIn.byPassword((await addPartner(service)).partnerId, id, { password, code: code() }),
    'refused',
  )
  assert.equal(await signIn.byPassword(partnerId, undefined, { password, code: code() }), 'refused')
})

test('after five failures in a row, also at once, nothing signs in for 15 minutes, and then the right password does', async () => {
  const { partnerId } = await addPartner(service)
  const { id, code } = await addMember(partnerId)
  const { signIn, clock } = service
  clock.advance(30 * secondMs)
  const wrong = { password: `${password}x`, code: code() }
  const answers = await Promise.all(Array.from({ length: 20 }, () => signIn.byPassword(partnerId, id, wrong)))
  assert.deepEqual(Map.groupBy(answers, (verdict) => verdict).get('blocked')?.length, 1)
  assert.ok(answers.every((verdict) => verdict === 'blocked' || verdict === 'refused'))
  assert.equal(await signIn.byPassword(partnerId, id, { password, code: code() }), 'refused')
  clock.advance(15 * minuteMs - 1)
  assert.equal(await signIn.byPassword(partnerId, id, { password, code: code() }), 'refused')
  clock.advance(1)
  assert.equal(await signIn.byPassword(partnerId, id, { password, code: code() }), 'code')
  for (let failures = 0; failures < 4; failures += 1)
    assert.equal(await signIn.byPassword(partnerId, id, wrong), 'refused')
  clock.advance(30 * secondMs)
  assert.equal(await signIn.byPassword(partnerId, id, { password, code: code() }), 'code', 'four failures do not block')
})

test('each of ten recovery codes replaces the code once, and belongs to one member', async () => {
  const { partnerId } = await addPartner(service)
  const [{ id, codes }, other] = [await addMember(partnerId), await addMember(partnerId)]
  const { signIn } = service
  assert.equal(new Set(codes).size, 10)
  const [code = '', second = ''] = codes
  assert.equal(await signIn.byPassword(partnerId, other.id, { password, code }), 'refused')
  const uses = await Promise.all(Array.from({ length: 4 }, () => signIn.byPassword(partnerId, id, { password, code })))
  assert.equal(uses.filter((verdict) => verdict === 'recovery code').length, 1)
  assert.equal(await signIn.byPassword(partnerId, id, { password, code: second.toUpperCase() }), 'recovery code')
  const stored = await service.db.rows<{ readonly row: string }>(
    sql`select recovery_codes::text as row from sign_in.recovery_codes where partner_id = ${partnerId}`,
  )
  assert.equal(stored.length, 20)
  assert.ok(stored.every(({ row }) => !codes.some((each) => row.includes(each.replaceAll('-', '')))))
})

test('a session that was unused for five minutes has rested for good, and its requests say so', async () => {
  const { partnerId } = await addPartner(service)
  const { id } = await addMember(partnerId)
  const { signIn, clock } = service
  const token = await open(partnerId, id)
  for (let minutes = 0; minutes < 12; minutes += 4) {
    clock.advance(4 * minuteMs)
    assert.equal((await signIn.session(token))?.rested, false)
  }
  clock.advance(5 * minuteMs)
  for (let times = 0; times < 2; times++) assert.equal((await signIn.session(token))?.rested, true)
  clock.advance(2 * minuteMs)
  assert.equal((await signIn.session(token))?.rested, true)
})

test('a session ends after 15 minutes without a request and after 12 hours, and its token is stored nowhere', async () => {
  const { partnerId } = await addPartner(service)
  const { id } = await addMember(partnerId)
  const { signIn, clock, db } = service
  const token = await open(partnerId, id)
  assert.equal((await signIn.session(token))?.memberId, id)
  clock.advance(15 * minuteMs - 1)
  assert.equal((await signIn.session(token))?.memberId, id)
  for (let passed = 0; passed < 11 * hourMs + 40 * minuteMs; passed += 10 * minuteMs) {
    clock.advance(10 * minuteMs)
    assert.equal((await signIn.session(token))?.memberId, id)
  }
  clock.advance(10 * minuteMs)
  assert.equal(await signIn.session(token), undefined, 'after 12 hours')
  const next = await open(partnerId, id)
  clock.advance(15 * minuteMs)
  assert.equal(await signIn.session(next), undefined, 'after 15 minutes without a request')
  await open(partnerId, id)
  const rows = await db.rows<{ readonly row: string }>(
    sql`select sessions::text as row from sign_in.sessions where partner_id = ${partnerId}`,
  )
  assert.equal(rows.length, 1, 'those that are over were forgotten')
  assert.ok(rows.every(({ row }) => !row.includes(next)))
  for (const text of ['', 'x', next.slice(1), `${next}A`, token]) assert.equal(await signIn.session(text), undefined)
})

test('a session is ended by its member, others by it, and a member who is forgotten has none', async () => {
  const { partnerId } = await addPartner(service)
  const { id } = await addMember(partnerId)
  const { signIn, db } = service
  const tokens = [await open(partnerId, id), await open(partnerId, id), await open(partnerId, id)] as const
  const [first, second] = await signIn.sessions(partnerId, id)
  assert.equal(await signIn.end(partnerId, newId(), first?.id ?? ''), false, 'not by another member')
  assert.equal(await signIn.end(partnerId, id, first?.id ?? ''), true)
  assert.equal(await signIn.session(tokens[2]), undefined)
  assert.equal(await signIn.endOthers(partnerId, id, second?.id ?? ''), 1)
  assert.ok(await signIn.session(tokens[1]))
  await db.transaction((tx) => signIn.forget(tx, partnerId, id))
  assert.equal(await signIn.session(tokens[1]), undefined)
  assert.deepEqual(await signIn.factorsOf(db, partnerId, [id]), [])
})

test('the secret of the app is the same each time the page is shown, and another for each invitation', () => {
  const key = randomBytes(32)
  const [one, two] = [randomBytes(32), randomBytes(32)].map((seed) => Uint8Array.from(seed)) as [Uint8Array, Uint8Array]
  assert.equal(totpSecretOf(key, one), totpSecretOf(key, one))
  assert.notEqual(totpSecretOf(key, one), totpSecretOf(key, two))
  assert.match(totpSecretOf(key, one), /^[A-Z2-7]{32}$/)
})
