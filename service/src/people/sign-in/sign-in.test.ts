/** Sign-in: passwords, devices, confirmations. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, hourMs, minuteMs, newId, randomBytes, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { refuseWeakPassword } from './passwords.ts'
import {
  devicesMax,
  newChallenge,
  verifyChallenge,
  readRecoveryCode,
  formatRecoveryCode,
  findCodeStep,
  deriveTotpSecret,
} from './rules.ts'
const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })

suite('sign-in', () => {
  const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
  const given = { email: 'joan@example.com', fullName: 'Joan Clarke', partnerName: 'Acme' }

  /** Creates a member with a password and the secret of the authenticator app. */
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

  test('one-time codes match RFC 6238, appendix B, and are accepted once, up to one step early or late', () => {
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
      assert.equal(findCodeStep(secret, code, at, 0n), step)
      assert.equal(findCodeStep(secret, code, new Date(at.getTime() + 30 * secondMs), 0n), step)
      assert.equal(findCodeStep(secret, code, at, step), undefined)
      assert.equal(findCodeStep(secret, code, new Date(at.getTime() + 90 * secondMs), 0n), undefined)
    }
  })

  test('a challenge can be answered for its partner until it expires, and cannot be forged', () => {
    const key = randomBytes(32)
    const until = new Date('2026-11-24T08:10:00Z')
    const [partnerId, before] = [newId(), new Date(until.getTime() - 1)]
    const challenge = newChallenge(key, partnerId, randomBytes(16), until)
    assert.deepEqual(verifyChallenge(key, partnerId, challenge, before), until)
    assert.equal(verifyChallenge(key, partnerId, challenge, until), undefined)
    assert.equal(verifyChallenge(key, newId(), challenge, before), undefined)
    assert.equal(verifyChallenge(randomBytes(32), partnerId, challenge, before), undefined)
    for (const at of [0, 20, 53]) {
      const changed = Uint8Array.from(challenge, (byte, index) => (index === at ? byte ^ 1 : byte))
      assert.equal(verifyChallenge(key, partnerId, changed, before), undefined)
    }
    assert.equal(verifyChallenge(key, partnerId, challenge.slice(1), before), undefined)
  })

  test('a recovery code is accepted in every usual spelling', () => {
    const code = formatRecoveryCode(Uint8Array.from({ length: 32 }, (_, at) => at * 7))
    assert.match(code, /^[a-z2-9]{4}(?:-[a-z2-9]{4}){3}$/)
    assert.equal(readRecoveryCode(` ${code.toUpperCase()} `), code.replaceAll('-', ''))
    for (const text of ['', '123456', 'abcd-efgh-jkmn-pqr', 'abcd-efgh-jkmn-pqro'])
      assert.equal(readRecoveryCode(text), undefined)
  })

  test("400 to a password that is short, common or contains the person's name, and to a wrong code", async () => {
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

  test('only the beginning of a long password is checked for strength', async () => {
    const person = { email: 'joan@example.com', fullName: 'Joan Clarke' }
    const strong = 'meadow-lamp-42-river'
    await refuseWeakPassword(strong.padEnd(128, 'a'), person)
    await refuseWeakPassword(`${'a'.repeat(28)}${strong}`, person)
    const weak = refuseWeakPassword('a'.repeat(48) + strong, person)
    await assert.rejects(weak, (error) => error instanceof Refusal && error.errors[0]?.pointer === '/password')
  })

  test('a password signs in with a code of the app, and each code works once, even if it is sent twenty times at the same time', async () => {
    const { partnerId } = await addPartner(service)
    const { id, code } = await addMember(partnerId)
    const { signIn, clock } = service
    assert.equal(
      await signIn.verifyPassword(partnerId, id, { password, code: code() }),
      'refused',
      'the code of the enrolment',
    )
    clock.advance(30 * secondMs)
    const same = { password, code: code() }
    const answers = await Promise.all(Array.from({ length: 4 }, () => signIn.verifyPassword(partnerId, id, same)))
    assert.equal(answers.filter((verdict) => verdict === 'code').length, 1)
    clock.advance(30 * secondMs)
    assert.equal(await signIn.verifyPassword(partnerId, id, { password, code: code() }), 'code')
    assert.equal(
      await signIn.verifyPassword((await addPartner(service)).partnerId, id, { password, code: code() }),
      'refused',
    )
    assert.equal(await signIn.verifyPassword(partnerId, undefined, { password, code: code() }), 'refused')
  })

  test('after five failures in a row, even concurrent ones, the right password works only after 15 minutes', async () => {
    const { partnerId } = await addPartner(service)
    const { id, code } = await addMember(partnerId)
    const { signIn, clock } = service
    clock.advance(30 * secondMs)
    const wrong = { password: `${password}x`, code: code() }
    const answers = await Promise.all(Array.from({ length: 20 }, () => signIn.verifyPassword(partnerId, id, wrong)))
    assert.deepEqual(Map.groupBy(answers, (verdict) => verdict).get('blocked')?.length, 1)
    assert.ok(answers.every((verdict) => verdict === 'blocked' || verdict === 'refused'))
    assert.equal(await signIn.verifyPassword(partnerId, id, { password, code: code() }), 'refused')
    clock.advance(15 * minuteMs - 1)
    assert.equal(await signIn.verifyPassword(partnerId, id, { password, code: code() }), 'refused')
    clock.advance(1)
    assert.equal(await signIn.verifyPassword(partnerId, id, { password, code: code() }), 'code')
    for (let failures = 0; failures < 4; failures += 1)
      assert.equal(await signIn.verifyPassword(partnerId, id, wrong), 'refused')
    clock.advance(30 * secondMs)
    assert.equal(
      await signIn.verifyPassword(partnerId, id, { password, code: code() }),
      'code',
      'four failures do not block',
    )
  })

  test('each of ten recovery codes replaces the code once, and belongs to one member', async () => {
    const { partnerId } = await addPartner(service)
    const [{ id, codes }, other] = [await addMember(partnerId), await addMember(partnerId)]
    const { signIn } = service
    assert.equal(new Set(codes).size, 10)
    const [code = '', second = ''] = codes
    assert.equal(await signIn.verifyPassword(partnerId, other.id, { password, code }), 'refused')
    const uses = await Promise.all(
      Array.from({ length: 4 }, () => signIn.verifyPassword(partnerId, id, { password, code })),
    )
    assert.equal(uses.filter((verdict) => verdict === 'recovery code').length, 1)
    assert.equal(await signIn.verifyPassword(partnerId, id, { password, code: second.toUpperCase() }), 'recovery code')
    const stored = await service.db.rows<{ readonly row: string }>(
      sql`select recovery_codes::text as row from sign_in.recovery_codes where partner_id = ${partnerId}`,
    )
    assert.equal(stored.length, 20)
    assert.ok(stored.every(({ row }) => !codes.some((each) => row.includes(each.replaceAll('-', '')))))
  })

  test('a session that was unused for five minutes is rested until it ends', async () => {
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

  test('an open page that refreshes itself does not keep the session alive', async () => {
    const { partnerId } = await addPartner(service)
    const { id } = await addMember(partnerId)
    const { signIn, clock } = service
    const token = await open(partnerId, id)
    const rested: (boolean | undefined)[] = []
    for (let minutes = 0; minutes < 16; minutes += 4) {
      clock.advance(4 * minuteMs)
      rested.push((await signIn.session(token, 'page'))?.rested)
    }
    assert.deepEqual(rested, [false, true, true, undefined])
  })

  test('a session ends after 15 minutes without a request and after 12 hours, and its token is not stored', async () => {
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
    const rowsOf = () =>
      db.rows<{ readonly row: string }>(
        sql`select sessions::text as row from sign_in.sessions where partner_id = ${partnerId}`,
      )
    await open(partnerId, id)
    assert.equal((await rowsOf()).length, 3, 'a form that meets a session that is over belongs to its person')
    clock.advance(8 * dayMs)
    await open(partnerId, id)
    const rows = await rowsOf()
    assert.equal(rows.length, 1, 'those that were over a week before were forgotten')
    assert.ok(rows.every(({ row }) => !row.includes(next)))
    for (const text of ['', 'x', next.slice(1), `${next}A`, token]) assert.equal(await signIn.session(text), undefined)
  })

  test('a member ends one session or all others, and a removed member has no session', async () => {
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

  test('the secret of the app is the same each time the page is shown, and differs for each invitation', () => {
    const key = randomBytes(32)
    const [one, two] = [randomBytes(32), randomBytes(32)].map((seed) => Uint8Array.from(seed)) as [
      Uint8Array,
      Uint8Array,
    ]
    assert.equal(deriveTotpSecret(key, one), deriveTotpSecret(key, one))
    assert.notEqual(deriveTotpSecret(key, one), deriveTotpSecret(key, two))
    assert.match(deriveTotpSecret(key, one), /^[A-Z2-7]{32}$/)
  })
})

const newDevice = () => Buffer.from(randomBytes(32)).toString('base64url')

/** Signs a member in, and returns whether the device was new. */
async function comeFrom(partnerId: string, memberId: string, device?: string): Promise<boolean> {
  const { db, signIn } = service
  const client = { ip: '203.0.113.7', userAgent: 'Test browser', ...(device === undefined ? {} : { device }) }
  const opened = await db.transaction((tx) => signIn.open(tx, partnerId, memberId, { ...client, factor: 'passkey' }))
  assert.ok(await signIn.session(opened.token))
  return opened.isNewDevice
}

const rowsOf = (partnerId: string) =>
  service.db.rows<{ readonly row: string }>(
    sql`select known_devices::text as row from sign_in.known_devices where partner_id = ${partnerId}`,
  )

test('a device is new exactly once for each account, and its value is not stored', async () => {
  const { partnerId } = await addPartner(service)
  const { partnerId: other } = await addPartner(service)
  const [member, colleague] = [newId(), newId()]
  const device = newDevice()
  assert.equal(await comeFrom(partnerId, member, device), true)
  assert.equal(await comeFrom(partnerId, member, device), false)
  assert.equal(await comeFrom(partnerId, colleague, device), true, 'another account on the same browser')
  assert.equal(await comeFrom(other, member, device), true, 'the account of another partner')
  assert.equal(await comeFrom(partnerId, member, newDevice()), true, 'a value that was made up')
  assert.equal(await comeFrom(partnerId, colleague, device), false)
  const rows = await rowsOf(partnerId)
  assert.equal(rows.length, 3)
  const value = Buffer.from(device, 'base64url').toString('hex')
  assert.ok(rows.every(({ row }) => !row.includes(device) && !row.includes(value)))
  const hashes = rows.map(({ row }) => /\\x[0-9a-f]{64}/.exec(row)?.[0])
  assert.equal(new Set(hashes).size, 3, 'two accounts of one browser have different hashes')
})

test('a sign-in without a device cookie counts as a new device and stores no row', async () => {
  const { partnerId } = await addPartner(service)
  const member = newId()
  assert.deepEqual([await comeFrom(partnerId, member), await comeFrom(partnerId, member)], [true, true])
  assert.deepEqual(await rowsOf(partnerId), [])
})

test('of ten concurrent sign-ins from a device, only one counts it as new', async () => {
  const { partnerId } = await addPartner(service)
  const [member, device] = [newId(), newDevice()]
  const ends = await Promise.all(Array.from({ length: 10 }, () => comeFrom(partnerId, member, device)))
  assert.deepEqual(
    ends.filter((isNew) => isNew),
    [true],
  )
})

test("the devices of an account's last sign-ins stay known for a year", async () => {
  const { partnerId } = await addPartner(service)
  const member = newId()
  const { clock } = service
  const devices = Array.from({ length: devicesMax }, newDevice)
  const [first = '', second = ''] = devices
  for (const device of devices) {
    clock.advance(minuteMs)
    await comeFrom(partnerId, member, device)
  }
  clock.advance(minuteMs)
  assert.equal(await comeFrom(partnerId, member, first), false)
  const one = newDevice()
  assert.equal(await comeFrom(partnerId, member, one), true)
  assert.equal((await rowsOf(partnerId)).length, devicesMax)
  assert.equal(await comeFrom(partnerId, member, first), false, 'used a moment ago')
  assert.equal(await comeFrom(partnerId, member, second), true, 'used the longest ago')
  clock.advance(364 * dayMs)
  assert.equal(await comeFrom(partnerId, member, one), false)
  clock.advance(364 * dayMs)
  assert.equal(await comeFrom(partnerId, member, one), false, 'each sign-in renews the year')
  assert.equal((await rowsOf(partnerId)).length, 1, 'those of more than a year ago were forgotten')
  clock.advance(365 * dayMs)
  assert.equal(await comeFrom(partnerId, member, one), true)
})

test('the device of a sign-in stays known if a clock was set back', async () => {
  const { partnerId } = await addPartner(service)
  const member = newId()
  const { clock } = service
  clock.advance(minuteMs)
  for (let count = 0; count < devicesMax; count++) await comeFrom(partnerId, member, newDevice())
  clock.advance(-minuteMs)
  const device = newDevice()
  assert.equal(await comeFrom(partnerId, member, device), true)
  assert.equal(await comeFrom(partnerId, member, device), false)
})

test("removing a member deletes the member's devices", async () => {
  const { partnerId } = await addPartner(service)
  const [member, colleague, device] = [newId(), newId(), newDevice()]
  for (const id of [member, colleague]) await comeFrom(partnerId, id, device)
  const { db, signIn } = service
  await db.transaction((tx) => signIn.endAll(tx, partnerId, member))
  assert.equal(await comeFrom(partnerId, member, device), false, 'sessions end, and the device stays known')
  await db.transaction((tx) => signIn.forget(tx, partnerId, member))
  assert.equal((await rowsOf(partnerId)).length, 1, 'that of the colleague')
  assert.equal(await comeFrom(partnerId, member, device), true)
})

suite('confirmations', () => {
  const text = '{"amount":"1000.00"}'

  /** Creates a member with a password. The clock moves on, because the first code was used. */
  async function addMember() {
    const { signIn, db, clock } = service
    const { partnerId } = await addPartner(service)
    const memberId = newId()
    const who = { email: 'joan@example.com', fullName: 'Joan Clarke', partnerName: 'Acme', memberId }
    const invited = { ...who, seed: Buffer.from(randomBytes(32)) }
    const { totpSecret: secret } = await signIn.enrolment(invited)
    const code = () => codeOf(secret, clock.now().getTime())
    const factor = await signIn.prove(invited, { kind: 'password', password, code: code() })
    await db.transaction((tx) => signIn.enrol(tx, partnerId, memberId, factor))
    clock.advance(30 * secondMs)
    return { partnerId, memberId, code }
  }

  test('a code confirms the text of a page exactly once, within two minutes, and only for the person of the page', async () => {
    const { signIn, clock } = service
    const { partnerId, memberId, code } = await addMember()
    assert.equal(await signIn.passkeyOptionsFor(partnerId, memberId, text), undefined)
    const { nonce, expiresAt } = signIn.newPrompt(partnerId, memberId, 'approval')
    const asked = signIn.readPrompt(partnerId, memberId, 'approval', nonce)
    assert.deepEqual(asked, { nonce, expiresAt })
    assert.ok(asked)
    assert.equal(signIn.readPrompt(partnerId, newId(), 'approval', nonce), undefined, 'another person')
    assert.equal(signIn.readPrompt(partnerId, memberId, 'factor', nonce), undefined, 'another page')
    assert.equal(signIn.readPrompt(newId(), memberId, 'approval', nonce), undefined, 'another partner')
    for (const wrong of ['', 'x', `${nonce}AAAA`, nonce.slice(4)])
      assert.equal(signIn.readPrompt(partnerId, memberId, 'approval', wrong), undefined, wrong)
    const confirm = (given: string) =>
      signIn.confirm(partnerId, memberId, { ...asked, text }, { kind: 'code', code: given })
    assert.equal(await confirm('000000'), undefined)
    assert.deepEqual(await confirm(code()), { snapshot: text, factor: 'code' })
    clock.advance(30 * secondMs)
    assert.equal(await confirm(code()), undefined, 'the page was answered')
    clock.advance(minuteMs)
    assert.ok(signIn.readPrompt(partnerId, memberId, 'approval', nonce))
    clock.advance(30 * secondMs)
    assert.equal(signIn.readPrompt(partnerId, memberId, 'approval', nonce), undefined, 'after two minutes')
  })

  test('only one of several concurrent answers to a confirmation page counts', async () => {
    const { signIn, clock } = service
    const { partnerId, memberId, code } = await addMember()
    const asked = signIn.newPrompt(partnerId, memberId, 'approval')
    const given = { kind: 'code', code: code() } as const
    const answers = await Promise.all(
      [1, 2, 3].map(() => signIn.confirm(partnerId, memberId, { ...asked, text }, given)),
    )
    assert.equal(answers.filter((answer) => answer !== undefined).length, 1)
    clock.advance(30 * secondMs)
  })

  test('five wrong codes also block the password, and a person without a passkey cannot confirm with one', async () => {
    const { signIn, clock } = service
    const { partnerId, memberId, code } = await addMember()
    const asked = () => ({ ...signIn.newPrompt(partnerId, memberId, 'approval'), text })
    for (const credential of ['', '{}', 'null', '{"id":"AA","response":{"clientDataJSON":"AA"}}'])
      assert.equal(await signIn.confirm(partnerId, memberId, asked(), { kind: 'passkey', credential }), undefined)
    for (let failures = 0; failures < 5; failures++)
      assert.equal(await signIn.confirm(partnerId, memberId, asked(), { kind: 'code', code: '000000' }), undefined)
    assert.equal(await signIn.confirm(partnerId, memberId, asked(), { kind: 'code', code: code() }), undefined)
    assert.equal(await signIn.verifyPassword(partnerId, memberId, { password, code: code() }), 'refused')
    clock.advance(15 * minuteMs)
    assert.ok(await signIn.confirm(partnerId, memberId, asked(), { kind: 'code', code: code() }))
  })

  test('only the newest token opens a session', async () => {
    const { signIn, db } = service
    const { partnerId, memberId } = await addMember()
    const client = { ip: '203.0.113.7', userAgent: 'Test browser', factor: 'password' } as const
    const { token: old } = await db.transaction((tx) => signIn.open(tx, partnerId, memberId, client))
    const id = (await signIn.session(old))?.id ?? ''
    const token = await signIn.rotate(partnerId, id)
    assert.equal(await signIn.session(old), undefined)
    assert.equal((await signIn.session(token))?.id, id)
  })
})
