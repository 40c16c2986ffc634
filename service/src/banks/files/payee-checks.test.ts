/** Reports of a bank about payees, blocked payments and statuses that are not known: timeline, cases and refusals. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { TransferStatus } from '../../iso20022/index.ts'
import { sql } from '../../postgres/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  markFiled,
  statusXml,
} from '../../../../test/support/iso-incoming.ts'

let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
let partner: TestPartner
beforeEach(async () => {
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  partner = await addPartner(service, 1_000_00n)
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

async function sent(...amounts: readonly string[]) {
  const ids: string[] = []
  for (const amount of amounts) ids.push((await pay(service, partner, amount)).payout.endToEndId)
  await submitDuePayouts(bank.settlement)
  return { ...(await markFiled(service)), ids }
}
type File = Awaited<ReturnType<typeof sent>>

let files = 0
const answer = async ({ messageId }: Pick<File, 'messageId'>, more: Parameters<typeof statusXml>[1]) => {
  await folders.put(`payees-${(files += 1)}.xml`, statusXml(messageId, more))
  await bank.work()
}
const transfers = (file: File, ...codes: readonly string[]) =>
  answer(file, {
    batches: [
      {
        batchId: file.batchId,
        reasons: [],
        transfers: codes.map((status, at): TransferStatus => ({
          instructionId: file.ids[at] ?? '',
          status,
          reasons: [],
        })),
      },
    ],
  })
const cases = async () => (await casesOf(service)).map(({ kind, details }) => [kind, details])
const payouts = () =>
  service.db.rows<{ status: string; errorDetails: string | null; payeeCheck: string | null; timeline: string }>(sql`
    select payout.status, payout.error_details, payout.payee_check, transaction.timeline from payouts.payouts payout
      join transactions.transactions transaction on transaction.id = payout.transaction_id order by payout.amount`)
const stepsOf = ({ timeline }: { readonly timeline: string }) =>
  (JSON.parse(timeline) as { step: string; actor?: string }[])
    .map(({ step }) => step)
    .filter((step) => step.startsWith('Payee'))

test('the results for payees are in the timelines once, and mismatches are one case', async () => {
  const file = await sent('10.00', '11.00', '12.00', '13.00')
  await transfers(file, 'RCVC', 'RVMC', 'RVNM', 'RVNA')
  assert.deepEqual(
    (await payouts()).map((payout) => [payout.status, payout.payeeCheck, stepsOf(payout)]),
    [
      ['Processing', 'match', ['PayeeMatched']],
      ['Processing', 'close_match', ['PayeeMatchedClosely']],
      ['Processing', 'no_match', ['PayeeNotMatched']],
      ['Processing', 'unchecked', ['PayeeNotChecked']],
    ],
  )
  const [[kind, details] = [], ...more] = await cases()
  assert.deepEqual([kind, more], ['payee_mismatch', []])
  assert.match(details ?? '', /1 names do not match and 1 match closely/)
  // The same report under another name of the file, and one with other bytes: no further step.
  await transfers(file, 'RCVC', 'RVMC', 'RVNM', 'RVNA')
  assert.deepEqual(
    (await payouts()).map((payout) => stepsOf(payout).length),
    [1, 1, 1, 1],
  )
  // The bank executes what was released.
  await answer(file, { groupStatus: 'ACSC' })
  assert.deepEqual(
    (await payouts()).map(({ status }) => status),
    ['Completed', 'Completed', 'Completed', 'Completed'],
  )
})

test('a withdrawn payment whose payee did not match fails for that reason', async () => {
  const file = await sent('10.00', '11.00', '12.00')
  await transfers(file, 'RVNM', 'RVMC', 'RCVC')
  await transfers(file, 'CANC', 'RJCT', 'RJCT')
  assert.deepEqual(
    (await payouts()).map(({ status, errorDetails }) => [status, errorDetails]),
    [
      ['Failed', 'The name of the recipient does not match the account. (RVNM)'],
      ['Failed', 'The name of the recipient is not exactly that of the account. (RVMC)'],
      ['Failed', 'The bank rejected the payment.'],
    ],
  )
})

test('a result for a whole file counts for each payment; one that is not complete says nothing', async () => {
  const file = await sent('10.00', '11.00')
  for (const groupStatus of ['RVNC', 'RVCM', 'PART']) await answer(file, { groupStatus })
  assert.deepEqual((await payouts()).map(stepsOf), [[], []])
  await answer(file, { groupStatus: 'RCVC' })
  assert.deepEqual((await payouts()).map(stepsOf), [['PayeeMatched'], ['PayeeMatched']])
  assert.deepEqual(await cases(), [])
})

test('a result that comes after the end of a payment changes nothing', async () => {
  const file = await sent('10.00')
  await transfers(file, 'ACSC')
  await transfers(file, 'RVMC')
  assert.deepEqual(
    (await payouts()).map((payout) => [payout.status, stepsOf(payout)]),
    [['Completed', []]],
  )
})

test('a blocked payment keeps its money reserved, with a case, until the bank says its end', async () => {
  const file = await sent('10.00', '11.00')
  await transfers(file, 'ACWP', 'ACFC')
  await transfers(file, 'BLCK')
  await transfers(file, 'BLCK')
  const found = await cases()
  assert.deepEqual(
    found.map(([kind]) => kind),
    ['payment_missing'],
  )
  assert.match(String(found[0]?.[1]), /has blocked the payment .* \(BLCK, without a reason\)/)
  assert.deepEqual(
    (await payouts()).map(({ status }) => status),
    ['Processing', 'Processing'],
  )
  await transfers(file, 'RJCT')
  assert.equal((await payouts())[0]?.status, 'Failed')
})

test('a status that is not known is a case, and changes nothing', async () => {
  const file = await sent('10.00')
  await transfers(file, 'ZZZZ')
  await transfers(file, 'ZZZZ')
  await answer(file, { groupStatus: 'YYYY' })
  const found = await cases()
  assert.deepEqual(
    found.map(([kind]) => kind),
    ['entry_unclear', 'entry_unclear'],
  )
  assert.match(found.map(([, details]) => details).join(' '), /a status that is not known: ZZZZ/)
  assert.deepEqual(
    (await payouts()).map(({ status }) => status),
    ['Processing'],
  )
})
