/** Support sessions over HTTP, as a browser without scripts and an attacker send them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { inviteTo } from '../support/console.ts'
import { useService } from '../support/fixture.ts'
import { joinByPassword, sendForm, sessionOf } from '../support/team.ts'

const service = await useService()
const db = service.connect()

const at = (path: string) => new URL(path, service.baseUrl)
const read = (path: string, cookie: string) => fetch(at(path), { headers: { cookie }, redirect: 'manual' })
const enter = (code: string) => sendForm(at('/console/support'), { code })

/** An impersonation, with the path and the code of its link. */
async function impersonated() {
  const words = ['--partner', service.credentials.partnerId, '--staff', 'Sam <Staff>', '--note', 'Ticket 7']
  const result = await service.operator('impersonate', ...words)
  const url = new URL(String(result['consoleUrl']))
  return { id: String(result['serviceAccountId']), url, code: url.searchParams.get('code') ?? '' }
}

async function opened() {
  const { id, code } = await impersonated()
  return { id, cookie: sessionOf(await enter(code)) }
}

const isSignIn = async (cookie: string) =>
  ((await read('/console/team', cookie)).headers.get('location') ?? '').includes('sign-in')

test('the link alone opens nothing; its code opens one session, marked on each page, and is not in a URL', async () => {
  const { url, code } = await impersonated()
  const shown = await fetch(at(url.pathname + url.search))
  assert.equal(shown.status, 200)
  assert.equal(shown.headers.get('referrer-policy'), 'no-referrer')
  assert.deepEqual(shown.headers.getSetCookie(), [])
  const answers = await Promise.all([enter(code), enter(code)])
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 404])
  const [won] = answers.filter(({ status }) => status === 303)
  assert.equal(won?.headers.get('location'), 'home')
  const cookie = won ? sessionOf(won) : ''
  for (const path of ['home', 'team', 'sessions', 'payouts', 'service-accounts']) {
    const page = await read(`/console/${path}`, cookie)
    assert.equal(page.status, 200, path)
    assert.match(await page.text(), /Support session of Sam &lt;Staff&gt;\. Reason: Ticket 7\. Read only, ends/, path)
  }
  assert.equal((await enter(code)).status, 404, 'a replay')
})

test('a code of another partner, an expired code, a code of an ended impersonation and a foreign form open no session', async () => {
  const { code } = await impersonated()
  const other = Buffer.concat([
    Buffer.from(newId().replaceAll('-', ''), 'hex'),
    Buffer.from(code, 'base64url').subarray(16),
  ])
  for (const wrong of ['', 'x', other.toString('base64url')]) assert.equal((await enter(wrong)).status, 404)
  const foreign = await sendForm(at('/console/support'), { code }, { 'sec-fetch-site': 'cross-site' })
  assert.equal(foreign.status, 403)
  await db.run(sql`update access.support_sessions set code_expires_at = now() where code_hash is not null`)
  assert.equal((await enter(code)).status, 404)
  const ended = await impersonated()
  await service.operator(
    ...['service-account', 'revoke', '--partner', service.credentials.partnerId],
    ...['--id', ended.id, '--staff', 'Sam', '--note', 'done', '--yes'],
  )
  assert.equal((await enter(ended.code)).status, 404)
})

test('403 to each form of a support session, which cannot pay, approve, invite, create keys or change factors', async () => {
  const { cookie } = await opened()
  const id = newId()
  for (const path of [
    ...['payouts/new/preview', 'payouts/new/send', `payouts/${id}/approve`, `payouts/${id}/reject`, 'team/invite'],
    ...['team/reset', 'service-accounts/new', `service-accounts/${id}/revoke`, 'sessions/end', 'sessions/end-others'],
    ...['account/password', 'account/passkey', 'account/passkey/remove', 'account/sso'],
  ]) {
    const answer = await sendForm(at(`/console/${path}`), { id, amount: '1.00' }, { cookie })
    assert.equal(answer.status, 403, path)
    assert.match(await answer.text(), /A support session is read only/, path)
  }
})

test('an Admin can see and end the session, staff can end their own, it expires, and each end is recorded with the name', async () => {
  const admin = await joinByPassword(service, await inviteTo(service, 'Admin', 'Ada Admin'))
  const first = await opened()
  const own = String(admin.cookie)
  assert.match(await (await read('/console/sessions', own)).text(), /Impersonation by Sam &lt;Staff&gt;/)
  const ended = await sendForm(at(`/console/service-accounts/${first.id}/revoke`), {}, { cookie: own })
  assert.equal(ended.status, 303)
  assert.equal(await isSignIn(first.cookie), true)
  const second = await opened()
  assert.equal(await isSignIn(second.cookie), false)
  await sendForm(at('/console/sign-out'), {}, { cookie: second.cookie })
  assert.equal(await isSignIn(second.cookie), true)
  const third = await opened()
  await db.run(sql`update access.service_accounts set expires_at = now() where id = ${third.id}`)
  assert.equal(await isSignIn(third.cookie), true)
  const records = await db.rows<{ readonly content: string }>(
    sql`select content from audit.records where content like '%SupportSession%'`,
  )
  assert.ok(records.some(({ content }) => content.includes('endSupportSession')))
  for (const { content } of records) assert.match(content, /"impersonatedBy":"Sam <Staff>".*"reason":"Ticket 7"/)
})
