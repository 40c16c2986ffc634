/** The approval of a whole bulk in a real browser: one signature, a proof for each payout, and refused attempts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { test } from '../support/browser.ts'
import { makeBulk } from '../support/bulks.ts'
import { listAt, objectAt, success, textAt } from '../support/client.ts'
import { check, cookieOf, main, useConsole } from '../support/console.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { useService } from '../support/fixture.ts'
import { otherPartner } from '../support/service.ts'
import { sendForm } from '../support/team.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const { service, site, person } = useConsole(await useService(), ['400', '403', '404', '409'])
const rule = ['--partner', service.credentials.partnerId, '--currency', 'EUR', '--above-bulk', '100.00']
await service.operator('approval', 'set', ...rule, '--passkey', '--staff', 'Sam', '--note', 'two persons')
const payee = textAt(await createBeneficiary(service.client, { name: 'Grace <Hopper>' }), 'id')

const bulkOf = (...amounts: readonly string[]) =>
  makeBulk(
    service.client,
    amounts.map((amount) => payoutText(payee, amount)),
  )
const itemsOf = async (id: string) => listAt(success(await service.client.get(`/v1/payouts/bulk/${id}/items`)))
const waiting = async (id: string) => success(await service.client.get(`/v1/payouts/bulk/${id}/approval`)).payouts

/** A bulk of another partner. */
async function foreignBulk(): Promise<string> {
  const client = await otherPartner(service)
  return makeBulk(client, [payoutText(textAt(await createBeneficiary(client), 'id'), '1.00')])
}

/** Returns the fields that the page would send after the passkey has signed. Does not send the form. */
async function signedFields(page: Page, id: string): Promise<Record<string, string>> {
  await page.goto(`${site}/console/bulk-payouts/${id}/approve`)
  await page.route('**/approve', (route) => route.abort(), { times: 1 })
  const sent = page.waitForRequest((request) => request.method() === 'POST')
  await page.getByRole('button', { name: /^Approve / }).click()
  return Object.fromEntries(new URLSearchParams((await sent).postData() ?? ''))
}
const post = (id: string, verb: string, fields: Record<string, string>, cookie: string) =>
  sendForm(new URL(`/console/bulk-payouts/${id}/${verb}`, service.baseUrl), fields, { cookie })

async function proofOf(reference: string): Promise<string> {
  const proof = await until('the approval is under a signed head', async () => {
    const answer = success(await service.client.get(`/v1/transactions/${reference}/proof`))
    return answer.pending === 0 && JSON.stringify(answer).includes('approveBulkPayout') && answer
  })
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-bulk-'))
  const file = join(folder, 'proof.json')
  await writeFile(file, JSON.stringify(proof))
  const words = ['scripts/verify-proof.ts', file, '--payee', 'Grace <Hopper>', '--account', 'DE89370400440532013000']
  const [payout = {}] = listAt(success(await service.client.get(`/v1/payouts?reference=${reference}`)))
  const salt = textAt(objectAt(payout, 'approval'), 'payeeSalt')
  const { stdout } = await promisify(execFile)(process.execPath, [...words, `--salt=${salt}`])
  await rm(folder, { recursive: true })
  return stdout
}

test('one signature approves all payouts of a bulk, and the proof of each verifies offline', async () => {
  const id = await bulkOf('60.00', '30.00', '20.00')
  const { page } = await person('Operator', 'Bob Approver')
  await page.goto(`${site}/console/payouts?tab=waiting`)
  assert.match(await main(page), /Bulk payout\s+3 payouts[^]*110\.00 EUR/)
  assert.equal(await page.locator('tbody tr').count(), 1, 'its payouts are not listed one by one')
  await check(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${site}/console/payouts?tab=mine`)
  await page.getByRole('link', { name: 'Bulk payout', exact: true }).first().click()
  assert.match(await main(page), /Waits for an approval[^]*110\.00 EUR/)
  await check(page)
  await page.getByRole('link', { name: 'Review and approve' }).click()
  assert.match(await main(page), /110\.00 EUR\s+Payouts\s+3[^]*The largest payouts[^]*Grace <Hopper>[^]*60\.00 EUR/)
  await check(page)
  await page.setViewportSize({ width: 360, height: 800 })
  await check(page)
  await page.getByRole('button', { name: 'Approve 3 payouts, 110.00 EUR' }).click()
  await page.waitForURL(`${site}/console/bulk-payouts/${id}?done=approved`)
  assert.equal(await waiting(id), 0)
  for (const [item, amount] of (await itemsOf(id)).map((each, at) => [each, ['60.00', '30.00', '20.00'][at]] as const))
    assert.match(
      await proofOf(textAt(item, 'reference')),
      new RegExp(
        `approved by Bob Approver: ${amount} EUR to Grace <Hopper>, .* with the other payouts of its bulk; by a passkey`,
      ),
    )
})

test('a signature is valid once, only for the payouts and the person that it was requested for', async () => {
  const [id, other] = [await bulkOf('60.00', '50.00'), await bulkOf('70.00', '60.00', '50.00')]
  const bob = await person('Operator', 'Bob Second')
  const eve = await person('Operator', 'Eve Third')
  const zoe = await person('Operator', 'Zoe Fourth')
  const cookie = await cookieOf(bob.context)
  const fields = await signedFields(bob.page, id)
  assert.equal((await post(other, 'approve', fields, cookie)).status, 400)
  assert.equal((await post(id, 'approve', fields, await cookieOf(eve.context))).status, 400)
  assert.deepEqual([await waiting(id), await waiting(other)], [2, 3])
  const late = await signedFields(bob.page, other)
  const [first = {}] = await itemsOf(other)
  success(await service.client.post(`/v1/payouts/${textAt(first, 'payoutId')}/cancel`))
  assert.equal((await post(other, 'approve', late, await cookieOf(bob.context))).status, 400, 'the set has changed')
  assert.equal(await waiting(other), 2)
  const again = await signedFields(bob.page, id)
  const both = await Promise.all([1, 2].map(async () => post(id, 'approve', again, await cookieOf(bob.context))))
  // The approval replaces the token of the session: a later request is sent to sign in.
  const places = both.map(({ headers }) => headers.get('location') ?? '')
  assert.equal(places.filter((place) => place.endsWith('?done=approved')).length, 1, places.join(' '))
  assert.equal(await waiting(id), 0)
  // The session of the first person has a new token since.
  await eve.page.goto(`${site}/console/bulk-payouts/${other}/approve`)
  await eve.page.getByText('Reject instead').click()
  await eve.page.locator('#reason').fill(' ')
  await eve.page.getByRole('button', { name: 'Reject all' }).click()
  await eve.page.locator('#reason-error').waitFor()
  await check(eve.page)
  await eve.page.locator('#reason').fill('The file was sent twice.')
  await eve.page.getByRole('button', { name: 'Reject all' }).click()
  await eve.page.waitForURL(`${site}/console/bulk-payouts/${other}?done=rejected`)
  assert.equal(await waiting(other), 0)
  await until('the team is told once of the bulk', async () => {
    await zoe.page.goto(`${site}/console/inbox`)
    return /A bulk payout was rejected[^]*By: Eve Third/.test(await main(zoe.page))
  })
  const told = zoe.page.locator('main').getByRole('link', { name: 'was rejected' })
  assert.equal(await told.count(), 1, 'and not of each payout')
  await zoe.close()
  const foreign = await foreignBulk()
  for (const unknown of ['nonsense', newId(), foreign])
    assert.equal((await eve.page.goto(`${site}/console/bulk-payouts/${unknown}/approve`))?.status(), 404, unknown)
  assert.equal((await eve.page.goto(`${site}/console/bulk-payouts/${other}/approve`))?.status(), 409)
})
