/**
 * The approval of payouts in a real browser, with an authenticator that the browser simulates: the passkey signs amount
 * and payee, the proof verifies without the service, and each attack on the form is refused.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { listAt, objectAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, inviteTo, useConsole } from '../support/console.ts'
import { useSharedService } from '../support/fixture.ts'
import { codeOf, joinByPassword, sendForm, sessionOf } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const { service, site, person } = useConsole(await useSharedService(), ['400', '403', '404', '409'])
const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '100.00', '--payee-mismatch']
await service.operator('approval', 'set', ...rule, '--passkey', '--staff', 'Sam', '--note', 'two persons')
const beneficiaryId = textAt(await createBeneficiary(service.client, { name: 'Grace <Hopper>' }), 'id')

async function payout(
  amount: string,
  payee = beneficiaryId,
): Promise<{ readonly id: string; readonly reference: string }> {
  const made = success(await service.client.post('/v1/payouts/fiat', payoutText(payee, amount)))
  assert.equal(made.status, 'PendingApproval')
  const [newest = {}] = listAt(success(await service.client.get('/v1/payouts?limit=1')))
  assert.equal(newest.reference, made.reference)
  return { id: textAt(newest, 'id'), reference: textAt(newest, 'reference') }
}
const read = async (id: string) => success(await service.client.get(`/v1/payouts/${id}`))

/** Returns the fields that the page would send after the passkey has signed. Does not send the form. */
async function signedFields(page: Page, id: string): Promise<Record<string, string>> {
  await page.goto(`${site}/console/payouts/${id}/approve`)
  await page.route('**/approve', (route) => route.abort(), { times: 1 })
  const sent = page.waitForRequest((request) => request.method() === 'POST')
  await page.getByRole('button', { name: /^Approve / }).click()
  return Object.fromEntries(new URLSearchParams((await sent).postData() ?? ''))
}

const post = (id: string, verb: string, fields: Record<string, string>, cookie: string) =>
  sendForm(new URL(`/console/payouts/${id}/${verb}`, service.baseUrl), fields, { cookie })

test('the page warns if the payee name does not match the account', async () => {
  const payee = await createBeneficiary(service.client, { name: 'NoMatch Ada' })
  const verification = { name: 'NoMatch Ada', iban: textAt(payee, 'iban') }
  success(await service.client.post('/v1/beneficiaries/verifications', verification))
  const { page } = await person('Operator', 'Eve Approver')
  const { id } = await payout('1.00', textAt(payee, 'id'))
  await page.goto(`${site}/console/payouts/${id}/approve`)
  await page.getByText('the name of this payee is not that of the account').waitFor()
  await check(page)
  await page.goto(`${site}/console/payouts/${(await payout('200.00')).id}/approve`)
  assert.doesNotMatch(await page.locator('main').innerText(), /not that of the account/)
})

const run = promisify(execFile)
async function verifyProof(...words: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  return run(process.execPath, ['scripts/verify-proof.ts', ...words]).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, text: stderr }),
  )
}

test('a passkey approves the payout shown on the page, and the proof names amount, payee and person offline', async () => {
  const bob = await person('Operator', 'Bob Approver')
  const { id, reference } = await payout('1234.50')
  await bob.page.goto(`${site}/console/payouts/${id}/approve`)
  const shown = await bob.page.locator('main').innerText()
  for (const text of ['1,234.50 EUR', 'Grace <Hopper>', 'DE89 3704 0044 0532 0130 00', reference])
    assert.ok(shown.includes(text), text)
  await check(bob.page)
  const before = await cookieOf(bob.context)
  await bob.page.getByRole('button', { name: 'Approve 1,234.50 EUR' }).click()
  await bob.page.waitForURL(`${site}/console/payouts/${id}?done=approved`)
  assert.match(await bob.page.locator('main').innerText(), /You have approved the payout\. It goes to the bank now/)
  const after = await cookieOf(bob.context)
  assert.notEqual(after, before, 'a copied cookie ends')
  const old = await fetch(new URL('/console/sessions', service.baseUrl), {
    headers: { cookie: before },
    redirect: 'manual',
  })
  assert.equal(old.status, 303)
  const approved = await read(id)
  const approval = objectAt(approved, 'approval')
  assert.equal(approval.decision, 'Approved')
  assert.equal(objectAt(approval, 'decidedBy').name, 'Bob Approver')

  const proof = await until('every record has a head', async () => {
    const answer = success(await service.client.get(`/v1/transactions/${reference}/proof`))
    return answer.pending === 0 && JSON.stringify(answer).includes('approvePayout') && answer
  })
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-proof-'))
  const file = join(folder, 'proof.json')
  await writeFile(file, JSON.stringify(proof))
  const salt = textAt(approval, 'payeeSalt')
  const payee = ['--payee', 'Grace <Hopper>', '--account', 'DE89370400440532013000', '--salt', salt]
  const verified = await verifyProof(file, ...payee)
  assert.deepEqual(
    [verified.code, verified.text.includes('1234.50 EUR to Grace <Hopper>, DE89370400440532013000')],
    [0, true],
  )
  assert.match(verified.text, /approved by Bob Approver: .*; by a passkey of http:\/\/localhost:/)
  const other = await verifyProof(file, '--payee', 'Eve', '--account', 'DE89370400440532013000', '--salt', salt)
  assert.deepEqual([other.code, other.text.trim()], [1, 'The approval is for another payee or account.'])
  await writeFile(file, JSON.stringify(proof).replace('1234.50\\\\\\"', '9234.50\\\\\\"'))
  const changed = await verifyProof(file)
  assert.equal(changed.code, 1)
  assert.match(changed.text, /signed another snapshot|not under its head/)
  await rm(folder, { recursive: true })
})

test('a signature is valid for one payout, one person and one use; a code, an API credential or a foreign site is refused', async () => {
  const [bob, carol] = [await person('Admin', 'Bob Second'), await person('Operator', 'Carol Third')]
  const [first, second] = [await payout('200.00'), await payout('200.00')]
  const [byBob, byCarol] = [await cookieOf(bob.context), await cookieOf(carol.context)]
  const fields = await signedFields(bob.page, first.id)
  const waiting = async () => (await read(first.id)).status === 'PendingApproval'
  assert.equal((await post(second.id, 'approve', fields, byBob)).status, 400, 'another payout')
  assert.equal((await post(first.id, 'approve', fields, byCarol)).status, 400, 'another person')
  const nonce = /name="nonce" value="([^"]+)"/.exec(
    await (
      await fetch(new URL(`/console/payouts/${first.id}/approve`, service.baseUrl), { headers: { cookie: byBob } })
    ).text(),
  )?.[1]
  assert.equal((await post(first.id, 'approve', { ...fields, nonce: nonce ?? '' }, byBob)).status, 400, 'another page')
  for (const change of [{ nonce: '' }, { nonce: 'AAAA' }, { credential: '{}' }, { credential: '', code: '123456' }])
    assert.equal((await post(first.id, 'approve', { ...fields, ...change }, byBob)).status, 400, JSON.stringify(change))
  const cross = await sendForm(new URL(`/console/payouts/${first.id}/approve`, service.baseUrl), fields, {
    cookie: byBob,
    'sec-fetch-site': 'cross-site',
  })
  assert.equal(cross.status, 403)
  const api = service.clientOf(
    await service.operator(
      'service-account',
      'create',
      '--partner',
      service.credentials.partnerId,
      '--name',
      'Robot',
      '--permissions',
      'all',
    ),
  )
  assert.equal((await api.post(`/v1/payouts/${first.id}/approve`)).status, 403)
  assert.ok(await waiting())
  const both = await Promise.all([1, 2, 3].map(() => post(first.id, 'approve', fields, byBob)))
  const [done, ...more] = both.filter(({ headers }) => headers.get('location') === `../${first.id}?done=approved`)
  assert.ok(done && more.length === 0, 'one of three at once')
  assert.equal((await read(first.id)).status === 'PendingApproval', false)
  assert.equal((await post(first.id, 'approve', fields, sessionOf(done))).status, 409, 'again')
})

test('a person who signs in with a password is told that approving needs a passkey, and may reject with a reason', async () => {
  const { id } = await payout('300.00')
  const { cookie, secret } = await joinByPassword(service, await inviteTo(service, 'Operator', 'Dora Fourth'))
  const page = await fetch(new URL(`/console/payouts/${id}/approve`, service.baseUrl), { headers: { cookie } })
  assert.match(await page.text(), /needs a passkey/)
  const nonce = 'AAAA'
  assert.equal((await post(id, 'approve', { nonce, code: codeOf(secret, Date.now() + 30_000) }, cookie)).status, 400)
  for (const reason of ['', ' ', 'x'.repeat(141)])
    assert.equal((await post(id, 'reject', { reason }, cookie)).status, 400)
  assert.equal((await post(id, 'reject', { reason: 'Paid before' }, cookie)).status, 303)
  assert.equal(objectAt(await read(id), 'approval').reason, 'Paid before')
  assert.equal((await post(id, 'reject', { reason: 'Paid before' }, cookie)).status, 303, 'repeated')
  const developer = await joinByPassword(service, await inviteTo(service, 'Developer', 'Eve Reader'))
  const refused = await fetch(new URL(`/console/payouts/${id}/approve`, service.baseUrl), {
    headers: { cookie: developer.cookie },
  })
  assert.equal(refused.status, 403)
  const missing = '00000000-0000-7000-8000-000000000000'
  for (const unknown of [missing, 'x', '%00'])
    assert.equal((await post(unknown, 'approve', { nonce }, cookie)).status, 404, unknown)
})
