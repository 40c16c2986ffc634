/**
 * Searches the whole database for the names of an erased customer and of its payee: each place with a name before the
 * erasure, what remains there, and until when. docs/decisions/0055-erasure.md gives the reason for each place.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { type OperationCall, Refusal } from '../../service/src/kernel/api/index.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { dayMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { accountsRoutes } from '../../service/src/accounts/index.ts'
import { beneficiariesRoutes } from '../../service/src/parties/beneficiaries/index.ts'
import { checkoutRoutes } from '../../service/src/checkout/index.ts'
import { customersRoutes } from '../../service/src/parties/customers/index.ts'
import { recallsRoutes } from '../../service/src/payouts/recalls/index.ts'
import { standingOrdersRoutes } from '../../service/src/payouts/standing-orders/index.ts'
import { instructionIdOf } from '../../service/src/payouts/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, ip, type Service, type TestPartner } from '../support/composition.ts'
import { untilEnd, useModules } from '../support/fixture.ts'
import { createBankFolders, createIncomingBank, entryOf, markFiled, reportXml } from '../support/iso-incoming.ts'
import { sendCredit } from '../support/screening/held.ts'
import { placesOf } from '../support/traces.ts'

let connector = 'sandbox'
const service = await useModules({ now: new Date(), stepMs: 0, chooseConnector: () => connector })
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
const folders = untilEnd(await createBankFolders())

const name = 'Quillonea Vexbridge'
const payeeName = 'Jorvanda Pelstrim'
const words = /quillonea|vexbridge|jorvanda|pelstrim/i
const kyc = { fullName: name, addressLine1: '1 Vexbridge Street', website: 'vexbridge.example.com' }

/** The handlers whose answers are stored under an `Idempotency-Key`. */
function handlersOf({ idempotency, ...modules }: Service) {
  return {
    ...accountsRoutes(modules.accounts, idempotency),
    ...beneficiariesRoutes(modules.beneficiaries, idempotency),
    ...checkoutRoutes(modules.checkout, idempotency),
    ...customersRoutes(modules.customers, modules.personalData, idempotency, modules.accounts.holderIn),
    ...recallsRoutes(modules.recalls, idempotency),
    ...standingOrdersRoutes(modules.standingOrders, idempotency),
  }
}
const keyed = [
  ...['createBeneficiary', 'createCustomer', 'createCustomerAccount', 'createPayoutRecall', 'createStandingOrder'],
  'expireCheckoutSession',
] as const
type KeyedOperation = (typeof keyed)[number]

type Request = { readonly params?: object; readonly body?: object; readonly idempotencyKey?: string }

function caller({ caller: by }: TestPartner) {
  const handlers = handlersOf(service)
  return async <K extends KeyedOperation>(operation: K, call: Request) => {
    const defaults = { caller: by, params: {}, query: {}, ip, requestId: newId() }
    const given = { ...defaults, idempotencyKey: `key of ${operation}`, ...call }
    const handler = handlers[operation] as (call: OperationCall<K>) => Promise<{ readonly body: unknown }>
    return (await handler(given as unknown as OperationCall<K>)).body as Readonly<Record<string, string>>
  }
}

const isKeyTaken = (error: unknown) =>
  error instanceof Refusal &&
  error.code === 'idempotency_key_reused' &&
  /was erased with the customer/.test(error.detail ?? '')

/** Writes a credit as the connector of a chain does, because no chain runs here. */
async function addChainTransfer(partnerId: string, id: string): Promise<void> {
  const now = service.clock.now()
  const parties = service.sealer.seal(JSON.stringify({ originator: { name } }), ['rails.travel_rule', partnerId, id])
  await service.db.run(sql`
    insert into rails.chain_transfers (partner_id, id, connector, end_to_end_id, creditor_name, recipient, currency, amount,
      travel_rule_sealed, sender, nonce, status, created_at, updated_at)
    values (${partnerId}, ${id}, 'evm-1', 'E2E', ${payeeName}, '0x0', 'USDC', 1, ${parties}, '0x1', 1, 'Settled', ${now}, ${now})`)
}

/** Writes a credit as the connector of a file-based bank does, and the bank's answer. */
async function addBankRecall(partnerId: string): Promise<void> {
  const now = service.clock.now()
  await service.db.run(sql`
    insert into rails.iso_recalls (partner_id, id, connector, instruction_id, reason, details, requested_by, status, answer_details,
      created_at, updated_at)
    select partner_id, ${newId()}, connector, id, 'FRAD', ${`Paid to ${payeeName} by fraud`}, 'Ada', 'Refused',
      ${`${payeeName} does not agree`}, ${now}, ${now}
    from rails.iso_instructions where partner_id = ${partnerId}`)
}

const recallOf = ({ id }: { readonly id: string }): Request => ({
  params: { id },
  body: { reason: 'FRAD', text: `${payeeName} has forged the invoice.` },
})

/** Answers the recall as the payee's bank, with a text that contains the payee's name. */
async function answerRecall(partnerId: string, payout: { readonly id: string }) {
  const [recall] = await service.recalls.list(partnerId, payout.id)
  const answer = { accepted: false, reasonCode: 'NARR', bankText: `${payeeName} keeps the money` } as const
  const instructionId = recall?.instructionId ?? ''
  assert.ok(await service.recalls.answered({ partnerId, recallId: recall?.id ?? '', instructionId, ...answer }))
}

/** Resolves the cases with a note. Their money stays in suspense in this test. */
async function resolveCases(): Promise<void> {
  for (const { partnerId, id } of await service.cases.list(undefined, 10))
    await service.db.run(sql`update cases.cases set resolution = 'written_off', resolved_at = ${service.clock.now()},
      resolved_by = 'Sam Staff', note = ${`Not of ${name}`} where partner_id = ${partnerId} and id = ${id}`)
}

/** Creates everything that can contain the name of a customer or of its payee. */
async function useEverywhere(partner: TestPartner) {
  const { partnerId } = partner
  const call = caller(partner)
  const email = 'quillonea@vexbridge.example.com'
  const requests: Partial<Record<KeyedOperation, Request>> = {}
  const make = (operation: KeyedOperation, request: Request) => call(operation, (requests[operation] = request))
  const { guid = '', serviceId = '' } = await make('createCustomer', {
    body: { email, partnerCustomerIdentifier: 'vexbridge-1', kyc },
  })
  await service.customers.update(partnerId, guid, { kyc: { mobilePhone: '+44 7400 123456', city: 'Vexbridge' } })
  const account = await make('createCustomerAccount', { params: { id: serviceId } })
  const payee = {
    customerId: guid,
    name: payeeName,
    alias: 'Pelstrim rent',
    iban: 'DE89370400440532013000',
    currency: 'EUR',
    address: { streetName: 'Pelstrim Street', city: 'Vexbridge', country: 'DE' },
  }
  const { id: beneficiaryId = '' } = await make('createBeneficiary', { body: payee })
  await service.beneficiaries.verify(partner.caller, { name: payeeName, iban: payee.iban })
  const money = { beneficiaryId, amount: rawNumber('1.00'), currency: 'EUR' }
  const schedule = { frequency: 'Monthly', startsOn: '2030-01-15' } as const
  await make('createStandingOrder', { body: { ...money, reference: 'Vexbridge rent', schedule } })
  const order = { amount: rawNumber('1.00'), currency: 'EUR', idempotencyKey: newId(), customerId: guid }
  const returnUrl = 'https://vexbridge.example.com/'
  const { session } = await service.checkout.create(partner.caller, { ...order, returnUrl })
  await make('expireCheckoutSession', { params: { sessionId: session.id } })
  return { guid, iban: account['iban'] ?? '', money, call, requests }
}

async function settle(settlement: Service['settlement']) {
  for (let round = 0; round < 6; round += 1) {
    await submitDuePayouts(settlement)
    while ((await processBankNotifications(settlement)) > 0);
    service.clock.advance(minuteMs)
  }
}

async function payEverywhere(partner: TestPartner, { iban, money }: Awaited<ReturnType<typeof useEverywhere>>) {
  const bank = createIncomingBank(service, folders)
  const { payout } = await service.payouts.create(partner.caller, { ...money, idempotencyKey: newId() }, ip)
  const item = { ...money, idempotencyKey: newId(), reference: 'r-1' }
  const second = await service.payouts.create(partner.caller, { ...money, idempotencyKey: newId() }, ip)
  const bulk = { mode: 'BestEffort', payouts: [item], idempotencyKey: newId() }
  await service.bulkPayouts.create(partner.caller, bulk as never, ip)
  while ((await service.bulkPayouts.step()) > 0);
  connector = 'iso20022'
  await service.payouts.create(partner.caller, { ...money, idempotencyKey: newId() }, ip)
  connector = 'sandbox'
  await settle({ ...service.settlement, connectors: [...service.settlement.connectors, bank.connector] })
  await markFiled(service)
  const [sent] = await service.db.rows<{ endToEndId: string }>(sql`select end_to_end_id from rails.iso_instructions`)
  const paid = { creditor: { name: payeeName }, references: { endToEndId: sent?.endToEndId ?? '' } }
  await folders.put('paid.xml', reportXml([entryOf(-1_00n, { details: [paid] })]))
  await bank.work()
  const back = { ...paid, returned: { code: 'NARR', texts: [`${payeeName} does not accept it`] } }
  await folders.put('back.xml', reportXml([entryOf(1_00n, { details: [back] })]))
  await sendCredit(service, iban, name)
  await sendCredit(service, 'DE02120300000000202051', name)
  const detail = { debtor: { name }, remittanceLines: ['Vexbridge'], references: { endToEndId: 'E1' } }
  const receive = (amount: bigint, creditorAccount: { readonly iban: string }) =>
    folders.put(`${amount}.xml`, reportXml([entryOf(amount, { details: [{ ...detail, creditorAccount }] })]))
  await receive(5_00n, { iban })
  await receive(6_00n, { iban: 'DE89370400440532013000' })
  await bank.work()
  await settle({ ...service.settlement, connectors: [...service.settlement.connectors, bank.connector] })
  return { payout, second: second.payout }
}

/** Places where the test finds both names while the customer exists, which shows that the search works. */
const everywhere = [
  'beneficiaries.beneficiaries.alias',
  'beneficiaries.beneficiaries.name',
  'checkout.sessions.return_url',
  'customers.customers.email',
  'customers.customers.partner_customer_identifier',
  'idempotency.keys.answer_sealed',
]

/** Data that remain after an erasure, with the reason. */
const underDuty: Readonly<Record<string, string>> = {
  'beneficiaries.verifications.name': 'evidence of the warning before a payment, by its own age',
  'cases.cases.report': 'what a bank has reported of money that fits nothing, by its own age',
  'customers.changes.values_sealed': 'who the customer was: AMLD, Art. 40, until the end of the erasure',
  'customers.customers.kyc_sealed': 'who the customer was: AMLD, Art. 40, until the end of the erasure',
  'deposits.deposits.debtor': 'the parties of a payment: AMLD, Art. 40, until the end of the erasure',
  'payouts.payouts.error_details': 'the words of the bank about a payment, with it, until the end of the erasure',
  'payouts.recalls.answer_text': 'the words of the bank about a recall, with the payment, until the end of the erasure',
  'payouts.recalls.details': 'why a payment was asked back, with the payment, until the end of the erasure',
  'payouts.payouts.creditor_address': 'the parties of a payment: AMLD, Art. 40, until the end of the erasure',
  'payouts.payouts.creditor_name': 'the parties of a payment: AMLD, Art. 40, until the end of the erasure',
  'rails.chain_transfers.creditor_name':
    'the travel rule: Regulation (EU) 2023/1113, Art. 26, until the end of the erasure',
  'rails.chain_transfers.travel_rule_sealed':
    'the travel rule: Regulation (EU) 2023/1113, Art. 26, until the end of the erasure',
  'rails.iso_entries.counterparty': 'what the bank has booked, by its own age',
  'rails.iso_recalls.answer_details': 'what the bank has answered, until the end of the erasure',
  'rails.iso_recalls.details': 'what was sent to the bank, until the end of the erasure',
  'rails.iso_instructions.creditor_address': 'what was sent to the bank, until the end of the erasure',
  'rails.iso_instructions.creditor_name': 'what was sent to the bank, until the end of the erasure',
  'transactions.transactions.creditor': 'the parties of a payment: AMLD, Art. 40, until the end of the erasure',
  'transactions.transactions.debtor': 'the parties of a payment: AMLD, Art. 40, until the end of the erasure',
  'transactions.transactions.timeline': 'the words of the bank about a payment, with it, until the end of the erasure',
}

/** Data that remain after an erasure and after the retention period of payments. */
const always: Readonly<Record<string, string>> = {
  'events.events.data': 'deleted with its week, 30 days after it (service/src/webhooks/retention.ts)',
  'rails.sandbox_instructions.creditor_name':
    'the record of the sandbox bank, which is another company and has no real payments',
}

async function runErasures(): Promise<void> {
  const { erasures, keptRecords } = service.personalData
  while ((await erasures.step()) > 0) service.clock.advance(1)
  while ((await keptRecords.step()) > 0);
}

test('after an erasure names remain only where a law requires them, and nowhere after the retention period', async () => {
  const partner = await addPartner(service, 10_000n)
  const { partnerId } = partner
  const made = await useEverywhere(partner)
  const { payout, second } = await payEverywhere(partner, made)
  await addChainTransfer(partnerId, instructionIdOf(payout))
  await addBankRecall(partnerId)
  await made.call('createPayoutRecall', (made.requests['createPayoutRecall'] = recallOf(payout)))
  await answerRecall(partnerId, payout)
  const before = await placesOf(service, words)
  for (const place of [...everywhere, ...Object.keys(underDuty), ...Object.keys(always)])
    assert.ok(before.includes(place), `no name was in ${place}`)

  const erased = await service.personalData.erasures.erase(partnerId, made.guid, true)
  await runErasures()
  assert.deepEqual(await placesOf(service, words), [...Object.keys(underDuty), ...Object.keys(always)].toSorted())
  for (const operation of keyed)
    await assert.rejects(
      made.call(operation, made.requests[operation] ?? {}),
      isKeyTaken,
      `${operation} is not answered again`,
    )

  // The payment is kept, so that it may still be asked back: the answer of that is kept as long.
  const later = { ...recallOf(second), idempotencyKey: 'later' }
  await made.call('createPayoutRecall', later)
  const kept = [...Object.keys(underDuty), ...Object.keys(always), 'idempotency.keys.answer_sealed'].toSorted()

  // A day before their time nothing is erased.
  const { retainedUntil } = erased.row
  assert.ok(retainedUntil)
  service.clock.advance(retainedUntil.getTime() - 2 * dayMs - service.clock.now().getTime())
  await runErasures()
  assert.deepEqual(await placesOf(service, words), kept)

  service.clock.advance(4 * dayMs)
  await runErasures()
  assert.deepEqual(
    await placesOf(service, words),
    ['cases.cases.report', ...Object.keys(always)],
    'the case is still open',
  )
  await assert.rejects(made.call('createPayoutRecall', later), isKeyTaken)
  await resolveCases()
  service.clock.advance(6 * 366 * dayMs)
  await runErasures()
  assert.deepEqual(await placesOf(service, words), Object.keys(always))
  assert.equal((await service.cases.list(undefined, 10)).length, 0)
})
