/** Decisions about cases by two people, one who proposes and one who approves, with the sandbox bank. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayMs, newId } from '../kernel/index.ts'
import { instructionIdOf } from '../payouts/index.ts'
import { sql } from '../postgres/index.ts'
import type { BankNotification, Connector } from '../rails/index.ts'
import { addPartner, balanceOf, pay, stepMsDefault } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { until } from '../../../test/support/until.ts'
import { processBankNotifications, sendDueReturns, submitDuePayouts } from '../banks/settlement/index.ts'
import { caseActions, type CaseAction, retainedCases, operatorPartnerId } from './index.ts'
import type { ProposalRequest } from './decisions.ts'
const service = await useModules()

const euros = (amount: bigint) => ({ currency: 'EUR', amount }) as const
const debtor = {
  account: 'FR7630006000011234567890189',
  bic: 'AGRIFRPP',
  name: 'Ada Lovelace',
  countryCode: 'FR',
  address: null,
}

/** Makes the sandbox bank send one report. */
async function report(told: BankNotification): Promise<void> {
  const saying: Connector = {
    ...service.bank,
    notifications: () => Promise.resolve([told]),
    acknowledge: () => Promise.resolve(),
  }
  await processBankNotifications({ ...service.settlement, connectors: [saying] })
}

const openCases = async () => service.cases.list(undefined, 1000)
async function caseOf(notificationId: string) {
  const found = (await openCases()).find((row) => row.notificationId === notificationId)
  assert.ok(found, 'the notification has an open case')
  return found
}

/** Reports a credit to an unknown account, which opens a case. */
async function unknownCredit(amount: bigint, from = debtor) {
  const id = newId()
  await report({
    kind: 'credit.booked',
    partnerId: operatorPartnerId,
    id,
    subjectId: `entry ${id}`,
    account: 'DE02120300000000202051',
    money: euros(amount),
    debtor: from,
    remittance: 'Invoice 17',
    endToEndId: 'E2E-17',
  })
  return caseOf(id)
}

async function unknownDebit(amount: bigint) {
  const id = newId()
  const debit = {
    why: 'unknown_debit',
    account: 'DE02120300000000202051',
    money: euros(amount),
    details: 'A debit.',
  } as const
  await report({ kind: 'debit.booked', partnerId: operatorPartnerId, id, subjectId: id, ...debit })
  return caseOf(id)
}

type Key = { readonly partnerId: string; readonly id: string }
const keyOf = ({ partnerId, id }: Key): Key => ({ partnerId, id })
const propose = (found: Key, action: CaseAction, more: Partial<ProposalRequest> = {}) =>
  service.db.transaction((tx) =>
    service.decisions.propose(tx, { ...keyOf(found), action, staff: 'Ada', note: 'As agreed.', ...more }),
  )
const approve = (found: Key, staff = 'Grace', proposalId?: string) =>
  service.db.transaction((tx) =>
    service.decisions.approve(tx, { ...keyOf(found), staff, ...(proposalId === undefined ? {} : { proposalId }) }),
  )
const reject = (found: Key, staff: string) =>
  service.db.transaction((tx) => service.decisions.reject(tx, { ...keyOf(found), staff, note: 'Not so.' }))
const read = (found: Key) => service.cases.byId(service.db, found.partnerId, found.id)
const historyOf = async (found: Key) =>
  (await service.decisions.history(service.db, found.partnerId, found.id)).map(({ sequence, kind, actor }) => [
    sequence,
    kind,
    actor,
  ])
const postedOf = async (partnerId: string, name: string) =>
  (
    await service.db.row<{ posted: bigint }>(sql`
      select posted from ledger.accounts where partner_id = ${partnerId} and name = ${name} and currency = 'EUR'`)
  )?.posted ?? 0n

test('a proposal moves no money, and its author cannot approve it under another spelling of the name', async () => {
  const found = await unknownCredit(500n)
  const suspense = await postedOf(operatorPartnerId, 'suspense')
  const proposed = await propose(found, 'write-off')
  assert.equal(proposed.resolution, null)
  assert.equal(await postedOf(operatorPartnerId, 'suspense'), suspense)
  for (const same of ['Ada', 'ADA', ' a d a ', 'Ada\u200B', 'Ａｄａ'])
    await assert.rejects(approve(found, same), /another person/)
  await assert.rejects(approve(found, ' '), /State who/)
  const approved = await approve(found, 'Grace')
  assert.deepEqual([approved.resolution, approved.resolvedBy, approved.approvedBy], ['written_off', 'Ada', 'Grace'])
  assert.equal(await postedOf(operatorPartnerId, 'suspense'), suspense - 500n)
  assert.deepEqual(await historyOf(found), [
    [1, 'proposed', 'Ada'],
    [2, 'approved', 'Grace'],
  ])
  await assert.rejects(approve(found, 'Joan'), /was written_off by Ada, approved by Grace/)
  await checkLedger(service.db, operatorPartnerId)
})

test('a proposal that is replaced, withdrawn, rejected or expires is recorded in the history of the case', async () => {
  const found = await unknownCredit(500n)
  const first = await propose(found, 'write-off')
  const second = await propose(found, 'reverse', { staff: 'Joan' })
  await assert.rejects(approve(found, 'Grace', first.proposalId ?? ''), /was replaced by Joan/)
  await assert.rejects(approve(found, 'joan', second.proposalId ?? ''), /another person/)
  await reject(found, 'JOAN')
  await assert.rejects(approve(found), /has no proposal/)
  await assert.rejects(reject(found, 'Grace'), /has no proposal/)
  await propose(found, 'fees')
  await reject(found, 'Grace')
  await propose(found, 'fees')
  service.clock.advance(7 * dayMs + 1)
  await assert.rejects(approve(found), /has expired/)
  assert.equal(await service.decisions.expire(service.db.transaction, 100), 1)
  assert.equal(await service.decisions.expire(service.db.transaction, 100), 0)
  assert.deepEqual(
    (await historyOf(found)).map(([, kind]) => kind),
    ['proposed', 'replaced', 'withdrawn', 'proposed', 'rejected', 'proposed', 'expired'],
  )
  assert.equal((await read(found))?.resolution, null)
})

test('one of two concurrent approvals moves the money, and the other is refused', async () => {
  const found = await unknownCredit(700n)
  const fees = await postedOf(operatorPartnerId, 'fees')
  await propose(found, 'fees')
  const both = await Promise.allSettled([approve(found, 'Grace'), approve(found, 'Joan')])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal(await postedOf(operatorPartnerId, 'fees'), fees + 700n)
  assert.equal((await read(found))?.resolution, 'booked_to_fees')
})

test('only one of a concurrent approval and rejection takes effect', async () => {
  for (let round = 0; round < 5; round += 1) {
    const found = await unknownCredit(10n)
    await propose(found, 'write-off')
    const both = await Promise.allSettled([approve(found, 'Grace'), reject(found, 'Joan')])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const isApproved = both[0]?.status === 'fulfilled'
    assert.equal((await read(found))?.resolution, isApproved ? 'written_off' : null)
    assert.equal((await historyOf(found)).length, 2)
  }
})

test('an approval that races a replacement carries out the proposal that the approver read, or nothing', async () => {
  for (let round = 0; round < 5; round += 1) {
    const found = await unknownCredit(10n)
    const { proposalId } = await propose(found, 'write-off')
    const [approved, replaced] = await Promise.allSettled([
      approve(found, 'Grace', proposalId ?? ''),
      propose(found, 'reverse', { staff: 'Joan' }),
    ])
    const after = await read(found)
    if (approved.status === 'fulfilled') assert.equal(after?.resolution, 'written_off')
    else assert.deepEqual([after?.resolution, replaced.status], [null, 'fulfilled'])
    assert.notEqual(approved.status, replaced.status)
  }
})

test('a proposal that does not apply to the case is refused', async () => {
  const came = await unknownCredit(500n)
  const left = await unknownDebit(500n)
  const bare = await unknownCredit(500n, { ...debtor, account: '' })
  for (const [found, action, more, message] of [
    [came, 'note', {}, /has money/],
    [left, 'credit', {}, /money of the case left/],
    [left, 'return', {}, /money of the case left/],
    [left, 'match', {}, /name the payout/],
    [bare, 'return', {}, /does not name the account/],
    [came, 'fees', { payoutId: newId() }, /Only match names a payout/],
    [came, 'credit', { customerId: newId() }, /Only match names a customer/],
    [came, 'match', { customerId: newId(), payoutId: newId() }, /payout or a customer/],
    [{ ...came, id: newId() }, 'fees', {}, /No such case/],
    [came, 'fees', { staff: '\u200B ' }, /State who/],
  ] as const)
    await assert.rejects(propose(found, action, more), message)
  const stranger = await unknownCredit(1n)
  for (const more of [{ toPartnerId: newId() }, { toPartnerId: newId(), payoutId: newId() }]) {
    await propose(stranger, 'match', more)
    await assert.rejects(approve(stranger), /No such partner|no such payout/)
  }
  const { partnerId } = await addPartner(service)
  await propose(stranger, 'match', { toPartnerId: partnerId, customerId: newId() })
  await assert.rejects(approve(stranger), /customer/i)
  assert.equal((await read(stranger))?.resolution, null)
  for (const found of [came, left, bare, stranger]) assert.equal((await read(found))?.resolution, null)
  await checkLedger(service.db, operatorPartnerId)
})

test('a case without money refuses the actions for money and alerts, and one person can resolve it with a note', async () => {
  assert.equal(caseActions.length, 11)
  const id = newId()
  await report({
    kind: 'oddity',
    partnerId: operatorPartnerId,
    id,
    subjectId: 'x',
    what: 'file_unreadable',
    details: 'Cut.',
  })
  const found = await caseOf(id)
  await assert.rejects(propose(found, 'fees'), /no money/)
  for (const action of ['refuse', 'release'] as const)
    await assert.rejects(propose(found, action), /Only an alert of monitoring/)
  assert.equal((await propose(found, 'note')).resolution, 'noted')
  assert.deepEqual(await historyOf(found), [[1, 'noted', 'Ada']])
})

test('matching a credit with a customer creates a deposit and its transaction, and adds to the balance', async () => {
  const found = await unknownCredit(1234n)
  const partner = await addPartner(service)
  const { partnerId, customer } = partner
  await propose(found, 'match', { toPartnerId: partnerId, customerId: customer.id })
  assert.equal((await approve(found)).resolution, 'matched')
  assert.equal((await balanceOf(service, partnerId)).posted, 1234n)
  const { data } = await service.transactions.list(partnerId, { category: 'Deposit' })
  assert.deepEqual(
    data.map(({ row }) => [row.amount, row.status, row.type, row.customerId]),
    [[1234n, 'Completed', 'PartnerCustomerDeposit', customer.id]],
  )
  for (const id of [partnerId, operatorPartnerId]) await checkLedger(service.db, id)
})

test('a credit can be matched with the partner itself', async () => {
  const found = await unknownCredit(4321n)
  const { partnerId } = await addPartner(service)
  await propose(found, 'match', { toPartnerId: partnerId })
  await approve(found)
  assert.equal((await balanceOf(service, partnerId)).posted, 4321n)
  assert.equal(await postedOf(partnerId, 'settlement.sandbox'), -4321n)
})

async function work(steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}

test('a debit can be matched with the payout that it paid, and returned money with the payout that it returns', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, '4001.07')
  await work(1)
  const left = await unknownDebit(400_107n)
  const named = { toPartnerId: partnerId, payoutId: payout.id }
  await propose(left, 'match', named)
  await approve(left)
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Completed')
  assert.equal((await balanceOf(service, partnerId)).posted, 1_000_000n - 400_107n)
  const again = await unknownDebit(400_107n)
  await propose(again, 'match', named)
  await assert.rejects(approve(again), /does not match/)
  const came = await unknownCredit(400_107n)
  await propose(came, 'match', named)
  await approve(came)
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Returned')
  assert.equal((await balanceOf(service, partnerId)).posted, 1_000_000n)
  // The bank reports the payment late, when it is already recorded.
  await report({
    kind: 'payout.settled',
    partnerId,
    id: newId(),
    subjectId: instructionIdOf(payout),
    money: euros(400_107n),
  })
  assert.equal((await balanceOf(service, partnerId)).posted, 1_000_000n)
  for (const id of [partnerId, operatorPartnerId]) await checkLedger(service.db, id)
})

test('returned money of a payout is not matched with a closed balance, and stays in its case', async () => {
  const partner = await addPartner(service, 400_107n)
  const { partnerId } = partner
  const { payout } = await pay(service, partner, '4001.07')
  await work(1)
  const named = { toPartnerId: partnerId, payoutId: payout.id }
  const left = await unknownDebit(400_107n)
  await propose(left, 'match', named)
  await approve(left)
  await service.db.run(sql`
    update ledger.accounts set state = 'Closed'
    where partner_id = ${partnerId} and name = 'balance' and currency = 'EUR'`)
  const came = await unknownCredit(400_107n)
  await propose(came, 'match', named)
  await assert.rejects(approve(came), /its balance is closed/)
  assert.equal((await read(came))?.resolution, null)
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Completed')
  for (const id of [partnerId, operatorPartnerId]) await checkLedger(service.db, id)
})

const sendReturns = (connector: Connector = service.bank) => sendDueReturns(service.settlement, connector)

test('a return whose claim waits for a lock does not keep others from being sent', async () => {
  const cases = [await unknownCredit(901n), await unknownCredit(902n)]
  const ids: string[] = []
  for (const found of cases) {
    ids.push((await propose(found, 'return')).proposalId ?? '')
    await approve(found)
    service.clock.advance(1)
  }
  const [held = '', free = ''] = ids
  const statusOf = async (id: string) =>
    (await service.db.row<{ status: string }>(sql`select status from cases.returns where id = ${id}`))?.status
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = service.db.transaction(async (tx) => {
    await tx.rows(sql`select id from cases.returns where id = ${held} for update`)
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const sending = sendReturns()
  await until('the other return is sent', async () => (await statusOf(free)) === 'Sent').finally(released.resolve)
  await holding
  assert.equal(await sending, 2)
  assert.equal(await statusOf(held), 'Sent')
  await work(3)
})

test('a return is sent once to the debtor, and leaves suspense when the bank has booked it', async () => {
  const found = await unknownCredit(900n)
  const suspense = await postedOf(operatorPartnerId, 'suspense')
  const { proposalId } = await propose(found, 'return')
  const returning = await approve(found)
  assert.equal(returning.resolution, null)
  assert.ok(returning.returningSince)
  await assert.rejects(propose(found, 'fees'), /on its way back/)
  // The response to the first call is lost: the bank has the instruction, and the service queries its status.
  let lost = 0
  const losing: Connector = {
    ...service.bank,
    instruct: async (instructions, options) => {
      await service.bank.instruct(instructions, options)
      lost += 1
      throw new Error('connection reset')
    },
  }
  assert.deepEqual(
    await Promise.all([sendReturns(losing), sendReturns(losing)]).then((counts) => counts.toSorted()),
    [0, 1],
  )
  service.clock.advance(stepMsDefault)
  assert.equal(await sendReturns(), 1)
  assert.equal(lost, 1)
  assert.equal(await sendReturns(), 0)
  assert.equal(await postedOf(operatorPartnerId, 'suspense'), suspense)
  await work(3)
  assert.equal(await postedOf(operatorPartnerId, 'suspense'), suspense - 900n)
  const ended = await read(found)
  assert.deepEqual([ended?.resolution, ended?.returningSince], ['returned', null])
  const sent = await service.db.rows<{ creditorAccount: string; remittance: string }>(sql`
    select creditor_account, remittance from cases.returns where id = ${proposalId}`)
  assert.deepEqual(sent, [{ creditorAccount: debtor.account, remittance: 'Return of your payment E2E-17: Invoice 17' }])
  assert.deepEqual(await historyOf(found), [
    [1, 'proposed', 'Ada'],
    [2, 'approved', 'Grace'],
    [3, 'return_booked', 'bank sandbox'],
  ])
  await checkLedger(service.db, operatorPartnerId)
})

test('a return that the bank refuses or rejects reopens the case, and a second return is a new instruction', async () => {
  // Depending on the amount, the sandbox bank refuses the first, and accepts and then rejects the second.
  for (const [amount, kind] of [
    [400_102n, 'return_refused'],
    [400_101n, 'return_rejected'],
  ] as const) {
    const found = await unknownCredit(amount)
    const suspense = await postedOf(operatorPartnerId, 'suspense')
    const first = await propose(found, 'return')
    await approve(found)
    await sendReturns()
    await work(3)
    assert.equal((await historyOf(found)).at(-1)?.[1], kind)
    const open = await read(found)
    assert.deepEqual([open?.resolution, open?.returningSince, open?.proposalId], [null, null, null])
    assert.equal(await postedOf(operatorPartnerId, 'suspense'), suspense)
    const second = await propose(found, 'return')
    assert.notEqual(second.proposalId, first.proposalId)
    await reject(found, 'Ada')
  }
  await checkLedger(service.db, operatorPartnerId)
})

test('a return that comes back after its booking opens a separate case', async () => {
  const found = await unknownCredit(900n)
  const { proposalId } = await propose(found, 'return')
  await approve(found)
  await sendReturns()
  await work(3)
  const id = newId()
  const failure = { errorKey: 'BankRejection', details: 'Account closed.', reasonCode: 'AC04' } as const
  await report({
    kind: 'payout.returned',
    partnerId: operatorPartnerId,
    id,
    subjectId: proposalId ?? '',
    ...failure,
    money: euros(900n),
  })
  const again = await caseOf(id)
  assert.deepEqual([again.kind, again.booked, again.subject], ['contradiction', 900n, proposalId])
  await checkLedger(service.db, operatorPartnerId)
})

test('decisions are only added: no statement changes a decision, and an erasure removes only their notes', async () => {
  const { readSources } = await import('../../../test/tidy/source.ts')
  const texts = readSources()
    .filter(({ path }) => path.startsWith('service/src/') && !path.endsWith('.test.ts'))
    .flatMap(({ templates }) => templates.map(({ text }) => text))
    .filter((text) => text.includes('cases.decisions'))
  assert.ok(texts.length >= 1, 'the statements on decisions were read')
  assert.deepEqual(
    texts.filter((text) => /\b(?:update|delete|truncate)\b/i.test(text)),
    [],
  )
  const erased = retainedCases.personal?.filter(({ table }) => table === 'cases.decisions')
  assert.deepEqual(erased, [{ table: 'cases.decisions', by: 'case_id', erased: { note: '' } }])
})
