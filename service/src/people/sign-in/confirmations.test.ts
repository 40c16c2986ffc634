import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { minuteMs, newId, randomBytes, secondMs } from '../../kernel/index.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const text = '{"amount":"1000.00"}'

/** A member who signs in with a password. The clock moves on, so that the first code was used. */
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

test('a code confirms the text of a page once, within two minutes, for the person whom the page was made for', async () => {
  const { signIn, clock } = service
  const { partnerId, memberId, code } = await addMember()
  assert.equal(await signIn.passkeyOptionsFor(partnerId, memberId, text), undefined)
  const { nonce, expiresAt } = signIn.ask(partnerId, memberId, 'approval')
  const asked = signIn.readAsking(partnerId, memberId, 'approval', nonce)
  assert.deepEqual(asked, { nonce, expiresAt })
  assert.ok(asked)
  assert.equal(signIn.readAsking(partnerId, newId(), 'approval', nonce), undefined, 'another person')
  assert.equal(signIn.readAsking(partnerId, memberId, 'factor', nonce), undefined, 'another page')
  assert.equal(signIn.readAsking(newId(), memberId, 'approval', nonce), undefined, 'another partner')
  for (const wrong of ['', 'x', `${nonce}AAAA`, nonce.slice(4)])
    assert.equal(signIn.readAsking(partnerId, memberId, 'approval', wrong), undefined, wrong)
  const confirm = (given: string) =>
    signIn.confirm(partnerId, memberId, { ...asked, text }, { kind: 'code', code: given })
  assert.equal(await confirm('000000'), undefined)
  assert.deepEqual(await confirm(code()), { snapshot: text, factor: 'code' })
  clock.advance(30 * secondMs)
  assert.equal(await confirm(code()), undefined, 'the page was answered')
  clock.advance(minuteMs)
  assert.ok(signIn.readAsking(partnerId, memberId, 'approval', nonce))
  clock.advance(30 * secondMs)
  assert.equal(signIn.readAsking(partnerId, memberId, 'approval', nonce), undefined, 'after two minutes')
})

test('of two answers to a page at once, one confirms', async () => {
  const { signIn, clock } = service
  const { partnerId, memberId, code } = await addMember()
  const asked = signIn.ask(partnerId, memberId, 'approval')
  const given = { kind: 'code', code: code() } as const
  const answers = await Promise.all([1, 2, 3].map(() => signIn.confirm(partnerId, memberId, { ...asked, text }, given)))
  assert.equal(answers.filter((answer) => answer !== undefined).length, 1)
  clock.advance(30 * secondMs)
})

test('five wrong codes block the password too, and no passkey answers for a person who has none', async () => {
  const { signIn, clock } = service
  const { partnerId, memberId, code } = await addMember()
  const asked = () => ({ ...signIn.ask(partnerId, memberId, 'approval'), text })
  for (const credential of ['', '{}', 'null', '{"id":"AA","response":{"clientDataJSON":"AA"}}'])
    assert.equal(await signIn.confirm(partnerId, memberId, asked(), { kind: 'passkey', credential }), undefined)
  for (let failures = 0; failures < 5; failures++)
    assert.equal(await signIn.confirm(partnerId, memberId, asked(), { kind: 'code', code: '000000' }), undefined)
  assert.equal(await signIn.confirm(partnerId, memberId, asked(), { kind: 'code', code: code() }), undefined)
  assert.equal(await signIn.byPassword(partnerId, memberId, { password, code: code() }), 'refused')
  clock.advance(15 * minuteMs)
  assert.ok(await signIn.confirm(partnerId, memberId, asked(), { kind: 'code', code: code() }))
})

test('a session whose token was replaced opens with the new one alone', async () => {
  const { signIn, db } = service
  const { partnerId, memberId } = await addMember()
  const client = { ip: '203.0.113.7', userAgent: 'Test browser', factor: 'password' } as const
  const { token: old } = await db.transaction((tx) => signIn.open(tx, partnerId, memberId, client))
  const id = (await signIn.session(old))?.id ?? ''
  const token = await signIn.rotate(partnerId, id)
  assert.equal(await signIn.session(old), undefined)
  assert.equal((await signIn.session(token))?.id, id)
})
