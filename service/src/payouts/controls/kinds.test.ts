/**
 * Every rule applies to every kind of payout, to the paid and to the sold amount. Each cell of the table in
 * docs/guides/payout-controls.md is a test: the rule refuses or holds the payout, a refusal books nothing, and without
 * the rule the payout is accepted. A kind that is not in `kinds` does not compile.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { addPartner, ip, stepMsDefault } from '../../../../test/support/composition.ts'
import { quote } from '../../../../test/support/fx.ts'
import { createPaidSessions, writtenOf } from '../../../../test/support/refunds.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { setApprovalRule } from '../../../../test/support/approvals.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { type Currency, hourMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { readSanctionsList } from '../../screening/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../banks/settlement/index.ts'
import type { Preview } from '../preview.ts'
import type { PayoutOperation } from '../rules.ts'
import type { PayoutRow } from '../store.ts'
const service = await useModules()

type Partner = Awaited<ReturnType<typeof addPartner>>
/** The requester of a payout, and its payee. */
type PayoutParties = { readonly partner: Partner; readonly customerId: string; readonly beneficiaryId: string }
type Kind = {
  readonly debited: Currency
  readonly paid: Currency
  /** Requests a payout of 10.00 from the balance. Returns the payout, or the code of its refusal. */
  readonly ask: (asking: PayoutParties) => Promise<PayoutRow | string>
  readonly preview?: (asking: PayoutParties) => Promise<Preview>
}

const text = '10.00'
const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'

const codeOf = async (asked: Promise<{ readonly payout: PayoutRow }>): Promise<PayoutRow | string> => {
  try {
    return (await asked).payout
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}
const newest = async (partnerId: string, id: string | null | undefined, code: string | null | undefined) =>
  code ?? service.payouts.get(partnerId, id ?? '')
const bodyOf = ({ beneficiaryId }: PayoutParties, currency: Currency) => ({
  amount: rawNumber(text),
  currency,
  beneficiaryId,
  idempotencyKey: newId(),
})

const bulk = (mode: 'BestEffort' | 'AllOrNothing'): Kind => ({
  debited: 'EUR',
  paid: 'EUR',
  ask: async (asking) => {
    const { caller, partnerId } = asking.partner
    const body = { mode, idempotencyKey: newId(), payouts: [bodyOf(asking, 'EUR')] }
    const { bulk: made } = await service.bulkPayouts.create(caller, body, ip)
    while ((await service.bulkPayouts.step()) > 0);
    const [item] = await service.bulkPayouts.items(partnerId, made.id, undefined)
    return newest(partnerId, item?.payoutId, item?.problemCode)
  },
})

async function askByOrder({
  partner: { caller, partnerId },
  beneficiaryId,
}: PayoutParties): Promise<PayoutRow | string> {
  const now = service.clock.now()
  const startsOn = new Date(now.getTime() + 24 * hourMs).toISOString().slice(0, 10)
  const schedule = { frequency: 'Daily', startsOn, businessDays: 'None', count: 1 } as const
  const body = { beneficiaryId, amount: rawNumber(text), currency: 'EUR', schedule }
  const { id } = await service.standingOrders.create(caller, body, ip)
  const due = sql`update payouts.standing_orders set due_at = ${now} where partner_id = ${partnerId} and id = ${id}`
  await service.db.run(due)
  while ((await service.standingOrders.step()) > 0);
  const [execution] = (await service.standingOrders.executions(partnerId, id, {})).data
  return newest(partnerId, execution?.payoutId, execution?.problemCode)
}

/** Sells 10.00 EUR at a fixed rate. */
async function quoted({ partner }: Pick<PayoutParties, 'partner'>) {
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
  return (await quote(service, partner, { sellAmount: text })).row
}

async function fxBodyOf({ partner, beneficiaryId }: PayoutParties) {
  const { id: quoteId } = await quoted({ partner })
  return { quoteId, beneficiaryId, idempotencyKey: newId() }
}

const kinds: Readonly<Record<PayoutOperation | 'bulk' | 'bulkOfAll', Kind>> = {
  createFiatPayout: {
    debited: 'EUR',
    paid: 'EUR',
    ask: (asking) => codeOf(service.payouts.create(asking.partner.caller, bodyOf(asking, 'EUR'), ip)),
    preview: (asking) => service.payouts.preview(asking.partner.caller, bodyOf(asking, 'EUR'), ip),
  },
  createFxPayout: {
    debited: 'EUR',
    paid: 'USD',
    ask: async (asking) => codeOf(service.payouts.createFx(asking.partner.caller, await fxBodyOf(asking), ip)),
    preview: async (asking) => service.payouts.previewFx(asking.partner.caller, await fxBodyOf(asking), ip),
  },
  createTokenPayout: {
    debited: 'USDC',
    paid: 'USDC',
    ask: (asking) => codeOf(service.payouts.createToken(asking.partner.caller, bodyOf(asking, 'USDC'), ip)),
  },
  createCheckoutRefund: {
    debited: 'EUR',
    paid: 'EUR',
    ask: async (asking) => {
      const sessionId = await paidSessionOf(asking.partner, asking.customerId)
      const body = { amount: rawNumber(text), idempotencyKey: newId() }
      return codeOf(service.checkout.refund(asking.partner.caller, sessionId, body, ip))
    },
  },
  createStandingOrder: { debited: 'EUR', paid: 'EUR', ask: askByOrder },
  simulateWithdrawal: {
    debited: 'EUR',
    paid: 'EUR',
    ask: ({ partner, customerId }) =>
      codeOf(
        service.payouts.simulate(
          partner.caller,
          { customerRef: customerId, amount: 10_00n, currency: 'EUR', outcome: 'completed', idempotencyKey: null },
          ip,
        ),
      ),
  },
  bulk: bulk('BestEffort'),
  bulkOfAll: bulk('AllOrNothing'),
}
const paidSessionOf = createPaidSessions(() => service)
const hasBeneficiary = (kind: Kind) => kind !== kinds.simulateWithdrawal && kind !== kinds.createCheckoutRefund

const payee = async ({ partnerId }: Partner, currency: Currency, customerId: string, name = 'Grace Hopper') => {
  const account = currency === 'USDC' ? { walletAddress: wallet } : { iban: 'DE89370400440532013000' }
  return (await service.beneficiaries.create(partnerId, { ...account, name, currency, customerId })).id
}

const credit = ({ partnerId }: Partner, currency: Currency, amount: bigint) =>
  service.db.transaction((tx) =>
    service.deposits.creditPartner(tx, partnerId, { debit: 'settlement.sandbox', currency, amount }),
  )
const asked = ({ debited }: Kind) => (debited === 'USDC' ? 10_000_000n : 10_00n)

async function askingFor(
  kind: Kind,
  fields: { readonly name?: string; readonly float?: bigint } = {},
): Promise<PayoutParties> {
  const { debited, paid } = kind
  const { name, float = 10n * asked(kind) } = fields
  const partner = await addPartner(service)
  const { partnerId } = partner
  await credit(partner, debited, float)
  const kyc = { fullName: name ?? 'Ada Lovelace' }
  const { id: customerId } = await service.customers.create(partnerId, { email: 'ada@example.com', kyc })
  if (kind === kinds.createCheckoutRefund) await paidSessionOf(partner, customerId)
  return { partner, customerId, beneficiaryId: await payee(partner, paid, customerId, name) }
}

const accepted = (answer: PayoutRow | string): PayoutRow =>
  typeof answer === 'string' ? assert.fail(`refused: ${answer}`) : answer

async function accepts({ ask, preview }: Kind, asking: PayoutParties): Promise<PayoutRow> {
  if (preview) {
    const { verdicts, payout } = await preview(asking)
    assert.deepEqual(
      verdicts.filter(({ verdict }) => verdict === 'failed'),
      [],
    )
    const row = accepted(await ask(asking))
    assert.equal(payout?.fee ?? 0n, row.feeAmount ?? 0n, 'the preview says the fee')
    assert.equal(payout?.approval === null, row.status === 'Pending', 'the preview says whether it waits')
    return row
  }
  return accepted(await ask(asking))
}

async function refuses({ ask, preview }: Kind, asking: PayoutParties, code: string): Promise<void> {
  const before = await writtenOf(service.db, asking.partner.partnerId)
  assert.equal(await ask(asking), code)
  assert.equal(await writtenOf(service.db, asking.partner.partnerId), before, 'a refusal books nothing')
  const verdicts = await preview?.(asking)
  if (verdicts)
    assert.deepEqual(
      [...new Set(verdicts.verdicts.flatMap(({ verdict, code: why }) => (verdict === 'failed' ? [why] : [])))],
      [code],
    )
}

type Side = {
  readonly name: 'sold' | 'paid'
  readonly currency: Currency
  readonly amount: bigint
  readonly isDebited: boolean
}
type Cell = { readonly kind: Kind; readonly side: Side; readonly asking: PayoutParties }

async function sidesOf(kind: Kind, asking: PayoutParties): Promise<readonly Side[]> {
  const { debited, paid } = kind
  const amount = asked(kind)
  if (debited === paid) return [{ name: 'paid', currency: paid, amount, isDebited: true }]
  const { buyAmount } = await quoted(asking)
  return [
    { name: 'sold', currency: debited, amount, isDebited: true },
    { name: 'paid', currency: paid, amount: buyAmount, isDebited: false },
  ]
}

type Scope = 'partner' | 'customer' | 'beneficiary'
const setLimit = (
  { side: { currency }, asking }: Cell,
  scope: Scope,
  period: 'payment' | 'day' | 'month',
  amount: bigint,
) =>
  service.db.transaction((tx) =>
    service.payoutControls.limits.set(tx, { partnerId: asking.partner.partnerId, scope, period, currency, amount }),
  )
const usedOf = async ({ partner: { partnerId } }: PayoutParties, currency: Currency) =>
  (
    await service.db.rows<{ used: bigint }>(
      sql`select used from payouts.limit_counters where partner_id = ${partnerId} and currency = ${currency}`,
    )
  ).map(({ used }) => used)

/** Returns the amount that leaves the balance for a payout of the kind, by the current rate. */
async function inEuros(kind: Kind): Promise<bigint> {
  await service.rates.prepare()
  const convert = await service.rates.converter(service.db)
  return convert({ currency: kind.debited, amount: asked(kind) }, 'EUR')?.amount ?? assert.fail('there is no rate')
}

async function limitOfPayment(cell: Cell, scope: Scope): Promise<void> {
  const { kind, side, asking } = cell
  await setLimit(cell, scope, 'payment', side.amount - 1n)
  await refuses(kind, asking, 'limit_exceeded')
  await setLimit(cell, scope, 'payment', side.amount)
  await accepts(kind, asking)
}

/** A payout that ends is subtracted once, so that one more is within the limit. */
async function limitOfPeriod(cell: Cell, scope: Scope, period: 'day' | 'month'): Promise<void> {
  const { kind, side, asking } = cell
  const { partnerId } = asking.partner
  await setLimit(cell, scope, period, 2n * side.amount - 1n)
  const { id } = await accepts(kind, asking)
  assert.deepEqual(await usedOf(asking, side.currency), [side.amount])
  await refuses(kind, asking, 'limit_exceeded')
  await service.payouts.cancel(partnerId, id)
  await service.payouts.cancel(partnerId, id)
  assert.deepEqual(await usedOf(asking, side.currency), [0n])
  await accepts(kind, asking)
  assert.deepEqual(await usedOf(asking, side.currency), [side.amount])
}

const changeState = ({ asking }: Cell, account: { currency: Currency } | { customerRef: string }) =>
  service.db.transaction((tx) =>
    service.accounts.changeState(tx, {
      partnerId: asking.partner.partnerId,
      account,
      state: 'BlockedOutbound',
      reason: 'CourtOrder',
      note: 'Order 17',
      staff: 'Sam Staff',
    }),
  )

const reservedIn = async ({ partner: { partnerId } }: PayoutParties) =>
  new Map((await service.ledger.balances(service.db, partnerId)).map(({ currency, reserved }) => [currency, reserved]))

/** The effect of each rule on a payout of each kind. */
const rules: Readonly<Record<string, (cell: Cell) => Promise<void>>> = {
  'limit of a payment': (cell) => limitOfPayment(cell, 'partner'),
  'limit of a day': (cell) => limitOfPeriod(cell, 'customer', 'day'),
  'limit of a month': (cell) => limitOfPeriod(cell, hasBeneficiary(cell.kind) ? 'beneficiary' : 'partner', 'month'),
  /** The debited balance pays the fee. The bought amount is not charged. */
  fee: async ({ kind, side, asking }) => {
    const rule = { rail: 'any', fixedAmount: 5n, basisPoints: 10, minAmount: 0n, maxAmount: null } as const
    const charged = { ...rule, partnerId: asking.partner.partnerId, currency: side.currency }
    await service.db.transaction((tx) => service.payoutControls.fees.set(tx, charged))
    const { feeAmount } = await accepts(kind, asking)
    const fee = 5n + side.amount / 1000n
    assert.equal(feeAmount, side.isDebited ? fee : null)
    const taken = kind.debited === side.currency ? side.amount + fee : 10_00n
    assert.equal((await reservedIn(asking)).get(kind.debited), taken)
  },
  approval: async ({ kind, side, asking }) => {
    const { partnerId } = asking.partner
    const above = { aboveAmount: side.amount, aboveDayAmount: side.amount }
    for (const lower of ['aboveAmount', 'aboveDayAmount', undefined] as const) {
      const given = lower === undefined ? above : { ...above, [lower]: side.amount - 1n }
      await setApprovalRule(service, partnerId, { currency: side.currency, ...given })
      const { status, dueAt } = await accepts(kind, asking)
      assert.deepEqual([status, dueAt === null], lower === undefined ? ['Pending', false] : ['PendingApproval', true])
    }
  },
  /** The amount that leaves the balance counts, once, in the currency of the rule. */
  'limit over all currencies': async ({ kind, asking }) => {
    const { partnerId } = asking.partner
    const amount = await inEuros(kind)
    const set = (period: 'payment' | 'day', most: bigint) =>
      service.db.transaction((tx) =>
        service.payoutControls.limits.set(tx, {
          ...{ partnerId, scope: 'customer', period, currency: 'EUR', amount: most, allCurrencies: true },
        }),
      )
    await set('payment', amount - 1n)
    await refuses(kind, asking, 'limit_exceeded')
    await set('payment', amount)
    await set('day', 2n * amount - 1n)
    const { id } = await accepts(kind, asking)
    assert.deepEqual(await usedOf(asking, 'EUR'), [amount])
    await refuses(kind, asking, 'limit_exceeded')
    await service.payouts.cancel(partnerId, id)
    assert.deepEqual(await usedOf(asking, 'EUR'), [0n])
  },
  'approval over all currencies': async ({ kind, asking }) => {
    const { partnerId } = asking.partner
    const amount = await inEuros(kind)
    for (const [aboveAmount, status] of [
      [amount - 1n, 'PendingApproval'],
      [amount, 'Pending'],
    ] as const) {
      await setApprovalRule(service, partnerId, { allCurrencies: true, aboveAmount })
      assert.equal((await accepts(kind, asking)).status, status)
    }
  },
  coolingOff: async ({ kind, side, asking }) => {
    const { partnerId } = asking.partner
    await service.db.transaction((tx) =>
      service.payoutControls.coolingOffs.set(tx, { partnerId, currency: side.currency, hours: 1 }),
    )
    if (hasBeneficiary(kind)) await refuses(kind, asking, 'beneficiary_cooling_off')
    service.clock.advance(hourMs)
    await accepts(kind, asking)
  },
  /** The state of the debited balance decides. */
  'state of the balance': async (cell) => {
    const { kind, side, asking } = cell
    await credit(asking.partner, side.currency, 1n)
    await changeState(cell, { currency: side.currency })
    if (side.isDebited) await refuses(kind, asking, 'account_blocked')
    else await accepts(kind, asking)
  },
  'state of the customer': async (cell) => {
    await accepts(cell.kind, cell.asking)
    await changeState(cell, { customerRef: cell.asking.customerId })
    await refuses(cell.kind, cell.asking, 'account_blocked')
  },
  /** Money in the bought currency does not count. */
  funds: async ({ kind, side }) => {
    const asking = await askingFor(kind, { float: asked(kind) - 1n })
    if (!side.isDebited) await credit(asking.partner, side.currency, 10n * side.amount)
    await refuses(kind, asking, 'insufficient_funds')
    await credit(asking.partner, kind.debited, 1n)
    await accepts(kind, asking)
  },
}

for (const [name, kind] of Object.entries(kinds))
  for (const [rule, holds] of Object.entries(rules))
    test(`${name}: ${rule}`, async () => {
      for (const { name: side } of await sidesOf(kind, await askingFor(kind))) {
        const asking = await askingFor(kind)
        const found = (await sidesOf(kind, asking)).find((each) => each.name === side)
        assert.ok(found)
        await holds({ kind, side: found, asking })
        await checkLedger(service.db, asking.partner.partnerId)
      }
    })

const work = async () => {
  await submitDuePayouts(service.settlement)
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
}
/** Runs the settlement until the bank has rejected the payout. Payouts of other cells are due, too. */
async function settle({ partnerId, id }: PayoutRow): Promise<void> {
  for (let rounds = 0; (await service.payouts.get(partnerId, id)).status !== 'Failed'; rounds += 1) {
    assert.ok(rounds < 50, 'the bank rejects the payout')
    await work()
  }
}

test("a period's sum includes all kinds of payouts, without rejected and cancelled ones", async () => {
  const ofEuros = Object.entries(kinds).filter(([, { debited }]) => debited === 'EUR')
  const { partner, customerId, beneficiaryId } = await askingFor(kinds.createFxPayout, { name: 'Sandbox Rejected' })
  const inEuros = { partner, customerId, beneficiaryId: await payee(partner, 'EUR', customerId) }
  const asking = (kind: Kind): PayoutParties => ({ ...inEuros, ...(kind.paid === 'USD' ? { beneficiaryId } : {}) })
  const side = { name: 'paid', currency: 'EUR', amount: 0n, isDebited: true } as const
  await setLimit({ kind: kinds.bulk, side, asking: inEuros }, 'customer', 'month', BigInt(ofEuros.length) * 10_00n)
  const made: PayoutRow[] = []
  for (const [, kind] of ofEuros) made.push(await accepts(kind, asking(kind)))
  for (const [, kind] of ofEuros) await refuses(kind, asking(kind), 'limit_exceeded')
  for (const { id, soldAmount } of made) if (soldAmount === null) await service.payouts.cancel(partner.partnerId, id)
  assert.deepEqual(await usedOf(inEuros, 'EUR'), [10_00n], 'only what was sold is left')
  for (const payout of made) if (payout.soldAmount !== null) await settle(payout)
  assert.deepEqual(await usedOf(inEuros, 'EUR'), [0n])
  assert.deepEqual([...new Set((await reservedIn(inEuros)).values())], [0n])
})

const listed = 'Borislav Tremurov'
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  yield await readFile(new URL(`../../screening/samples/${file}`, import.meta.url))
}

test('screening holds every kind of payout to a listed name', async () => {
  const all: { readonly name: string; readonly kind: Kind; readonly asking: PayoutParties }[] = []
  for (const [name, kind] of Object.entries(kinds))
    all.push({ name, kind, asking: await askingFor(kind, { name: listed }) })
  await service.screening.lists.load(await readSanctionsList(bytesOf('un.xml')), 'Sam Staff')
  for (const { name, kind, asking } of all) {
    const { id } = await accepts(kind, asking)
    while ((await service.screener.sweepStep()) > 0);
    while ((await service.screener.screenStep()) > 0);
    service.clock.advance(31 * secondMs)
    await work()
    assert.equal((await service.payouts.get(asking.partner.partnerId, id)).status, 'Pending', name)
  }
})
