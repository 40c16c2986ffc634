/** Invitations. Interface document, Invitation request, Invitation, Invitation resend; contract page, the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { assertShape, invitation as invitationShape, invitations as invitationsShape } from '../support/documented.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { invitee, listAll } from '../support/world.ts'

const service = await useSharedService()
const { client } = service
const path = '/v1/users/invitations'

const invite = (invitations: readonly JsonObject[], fields: JsonObject = {}, as = client) =>
  as.post(path, { invitations, ...fields })
async function invited(fields: JsonObject = {}): Promise<JsonObject> {
  return listAt(success(await invite([{ ...invitee(), ...fields }])), 'invitations')[0] ?? {}
}
const count = async () => (await listAll(client, path)).length

test('200 to create and get: exactly the documented fields, status Pending, no token', async () => {
  const people: readonly JsonObject[] = ['Admin', 'Developer', 'Operator'].map((role) => ({ ...invitee(), role }))
  const answer = await invite(people, { expiryInDays: 30 })
  const created = success(answer)
  assertShape(invitationsShape, created)
  assert.deepEqual(
    listAt(created, 'invitations').map(({ email, roleName, status }) => [email, roleName, status]),
    people.map(({ email, role }) => [email ?? null, role, 'Pending']),
  )
  for (const item of listAt(created, 'invitations')) {
    assert.notEqual(item.invitedById, '')
    assert.deepEqual(success(await client.get(`${path}/${textAt(item, 'inviteId')}`)), item)
  }
  assert.ok(!/token/i.test(answer.text))
})

test('200 to expiryInDays of 1, 30, null and absent, and to a redirectUrl of https, of localhost, null and absent', async () => {
  for (const expiryInDays of [1, 30, null]) success(await invite([invitee()], { expiryInDays }))
  success(await invite([invitee()]))
  for (const redirectUrl of ['https://partner.example.com/join?x=1', 'http://localhost:3000/join', null])
    await invited({ redirectUrl })
})

test('200 to fifty invitations in a request, and 400 with /invitations to an empty list and to fifty-one', async () => {
  const before = await count()
  const many = Array.from({ length: 51 }, invitee)
  for (const people of [[], many]) assertProblem(await invite(people), { status: 400, pointer: '/invitations' })
  assert.equal(await count(), before)
  const created = success(await invite(many.slice(1)))
  assert.equal(listAt(created, 'invitations').length, 50)
  assert.equal(await count(), before + 50)
})

test('400 with /expiryInDays when it is not 1 to 30 whole days', async () => {
  for (const expiryInDays of [0, -1, 31, 1.5, 2_147_483_648, 1e300])
    assertProblem(await invite([invitee()], { expiryInDays }), { status: 400, pointer: '/expiryInDays' })
})

const badUrls = [
  ...['http://partner.example.com', 'ftp://x.example.com', 'javascript:alert(1)', '/relative', 'https://', 'nope'],
  ...['//x.example.com', 'http://localhost.evil.example.com', 'https:partner', 'data:text/html,x'],
]
test('400 with a pointer when a redirectUrl is not an absolute https URL, and no invitation is created', async () => {
  const before = await count()
  for (const redirectUrl of badUrls) {
    const answer = await invite([invitee(), { ...invitee(), redirectUrl }])
    assertProblem(answer, { status: 400, code: 'validation_failed', pointer: '/invitations/1/redirectUrl' })
  }
  assert.equal(await count(), before)
})

test('409 invitation_exists with a pointer when the address, in any case, has a pending invitation, and no invitation is created', async () => {
  const existing = invitee()
  success(await invite([existing]))
  const before = await count()
  for (const email of [textAt(existing, 'email'), textAt(existing, 'email').toUpperCase()]) {
    const answer = await invite([invitee(), { ...existing, email }])
    assertProblem(answer, { status: 409, code: 'invitation_exists', pointer: '/invitations/1/email' })
  }
  assert.equal(await count(), before)
  success(await invite([existing], {}, await otherPartner(service)))
})

test('400 or 409 with a pointer when a request contains an address twice, and no invitation is created', async () => {
  const before = await count()
  const twice = invitee()
  const answer = await invite([twice, { ...twice, email: textAt(twice, 'email').toUpperCase() }])
  assertProblem(answer, { status: answer.status === 409 ? 409 : 400, pointer: '/invitations/1/email' })
  assert.equal(await count(), before)
})

test('200 to one and 409 to the others of twenty concurrent invitations of one address', async () => {
  const same = invitee()
  const answers = await Promise.all(Array.from({ length: 20 }, () => invite([invitee(), same])))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers.filter((each) => each.status !== 200))
    assertProblem(answer, { status: 409, code: 'invitation_exists', pointer: '/invitations/1/email' })
  const live = (await listAll(client, path)).filter((item) => item.email === same.email)
  assert.equal(live.length, 1)
})

test('204 to a revocation, then 409 to revoke and resend, and 200 to a new invitation', async () => {
  const person = invitee()
  const created = listAt(success(await invite([person])), 'invitations')[0] ?? {}
  const one = `${path}/${textAt(created, 'inviteId')}`
  const gone = await client.delete(one)
  assert.equal(gone.status, 204)
  assert.equal(gone.text, '')
  const revoked = success(await client.get(one))
  assertShape(invitationShape, revoked)
  assert.equal(revoked.status, 'Revoked')
  assertProblem(await client.delete(one), { status: 409, code: 'invitation_not_pending' })
  assertProblem(await client.post(`${one}/resend`, {}), { status: 409, code: 'invitation_not_pending' })
  success(await invite([person]))
})

test('429 resend_too_soon with Retry-After when an invitation is resent within 60 s', async () => {
  const one = `${path}/${textAt(await invited(), 'inviteId')}`
  const body = { redirectUrl: 'https://partner.example.com/again' }
  const first = await client.post(`${one}/resend`, body)
  if (first.status === 200) assertShape(invitationShape, first.json)
  else assertProblem(first, { status: 429, code: 'resend_too_soon' })
  const second = await client.post(`${one}/resend`, body)
  assertProblem(second, { status: 429, code: 'resend_too_soon' })
  const seconds = Number(second.headers['retry-after'])
  assert.ok(seconds >= 1 && seconds <= 60, `Retry-After: ${second.headers['retry-after']}`)
})

test('200 or 429 to a resend without a redirectUrl: no body, {} and null', async () => {
  for (const body of [undefined, {}, { redirectUrl: null }]) {
    const answer = await client.post(`${path}/${textAt(await invited(), 'inviteId')}/resend`, body)
    if (answer.status === 200) assertShape(invitationShape, answer.json)
    else assertProblem(answer, { status: 429, code: 'resend_too_soon' })
  }
})

test('400 with /redirectUrl when a resend has a redirectUrl that is not an absolute https URL', async () => {
  const one = `${path}/${textAt(await invited(), 'inviteId')}`
  for (const redirectUrl of badUrls)
    assertProblem(await client.post(`${one}/resend`, { redirectUrl }), { status: 400, pointer: '/redirectUrl' })
})

test('200 to the list for each status', async () => {
  for (const status of ['Pending', 'Revoked']) {
    const items = await listAll(client, path, `&status=${status}`)
    assert.ok(items.length > 0)
    for (const item of items) {
      assertShape(invitationShape, item)
      assert.equal(item.status, status)
    }
  }
  for (const status of ['Accepted', 'Expired']) assert.deepEqual(await listAll(client, path, `&status=${status}`), [])
})
