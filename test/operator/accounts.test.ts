/** The operator's commands for the states of accounts. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service, type TestPartner } from '../support/composition.ts'
import { runOperator } from '../support/operator.ts'
import { createTestDatabase } from '../support/postgres.ts'

const folder = await mkdtemp(join(tmpdir(), 'partner-payments-accounts-'))
const database = await createTestDatabase()
const env = {
  DATA_DIR: folder,
  DATABASE_URL: database.url,
  MASTER_KEY: Buffer.alloc(32, '686f757365', 'hex').toString('base64'),
}
let service: Service
let partner: TestPartner
before(async () => {
  service = await createTestService({ url: database.url })
  partner = await addPartner(service, 100_000n)
})
after(async () => {
  await service.close()
  await database.drop()
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

const cuts = ['block', 'close']
const account = ([verb = '', ...args]: readonly string[]) =>
  runOperator(
    ['account', verb, ...args, '--partner', partner.partnerId, ...(cuts.includes(verb) ? ['--yes'] : [])],
    env,
  )
async function printed(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await account(args)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  return JSON.parse(stdout) as Record<string, unknown>
}
const by = ['--staff', 'Ada', '--reason', 'Fraud']

test('a block holds in a running service, cancels what waits, is listed, and ends', async () => {
  const { payout } = await pay(service, partner, '10.00')
  const block = ['block', '--currency', 'EUR', '--direction', 'outbound', ...by, '--note', 'Ticket 17']
  const { id, changedAt, ...blocked } = await printed(...block)
  const told = { customerId: null, currency: 'EUR', reason: 'Fraud', staff: 'Ada', note: 'Ticket 17' }
  assert.deepEqual(blocked, { ...told, from: 'Active', state: 'BlockedOutbound', cancelledPayouts: 1 })
  assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Cancelled')
  await assert.rejects(pay(service, partner, '10.00'), { code: 'account_blocked' })
  const { cancelledPayouts: _cancelled, ...listed } = { id, changedAt, ...blocked }
  assert.deepEqual(await printed('list'), [listed])
  assert.deepEqual(await printed(...block), { state: 'BlockedOutbound', unchanged: true, cancelledPayouts: 0 })
  assert.equal((await printed('unblock', '--currency', 'EUR', ...by))['state'], 'Active')
  assert.deepEqual(await printed('list'), [])
  await pay(service, partner, '10.00', { beneficiaryId: partner.ownBeneficiary.id })
})

test('the account of a customer is blocked and closed', async () => {
  const customer = ['--customer', partner.customer.serviceId, ...by]
  assert.equal((await printed('block', ...customer))['customerId'], partner.customer.id)
  await assert.rejects(pay(service, partner, '10.00'), { code: 'account_blocked' })
  assert.equal((await printed('close', ...customer))['state'], 'Closed')
  const { code, stderr } = await account(['unblock', ...customer])
  assert.deepEqual([code, stderr.trim()], [1, 'operator: The account of the customer is closed, which is final.'])
})

test('wrong arguments are named in one line, and change nothing', async () => {
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['block', ...by], /name --currency for a balance, or --customer/],
    [['block', '--currency', 'EUR', '--customer', 'x', ...by], /name --currency for a balance, or --customer/],
    [['block', '--currency', 'XXX', ...by], /--currency must be one of EUR/],
    [['block', '--currency', 'EUR', '--direction', 'up', ...by], /--direction must be both or inbound or outbound/],
    [['block', '--currency', 'EUR', '--staff', 'Ada', '--reason', 'Mood'], /--reason must be Compliance or CourtOrder/],
    [['block', '--currency', 'EUR', '--reason', 'Fraud'], /--staff is required/],
    [['close', '--currency', 'EUR', ...by], /is not empty/],
    [['block', '--customer', 'nobody', ...by], /customer/],
  ]
  for (const [args, says] of cases) {
    const { code, stdout, stderr } = await account(args)
    assert.deepEqual([code, stdout], [1, ''], args.join(' '))
    assert.match(stderr, says)
    assert.equal(stderr.trim().split('\n').length, 1)
  }
})
