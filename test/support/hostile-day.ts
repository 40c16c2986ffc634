/**
 * A day on which everybody does the worst at the worst time: payers send wrong amounts and currencies, banks take money back and
 * repeat themselves, partners rename and erase their customers and refund what was taken back, the operator blocks accounts, changes
 * gates and rules and loads lists, persons decide about names, alerts and cases. The operations are drawn by a seed and run by two
 * processes at once.
 */
import { approvalRule } from './approvals.ts'
import { rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { caseActions, operatorPartnerId } from '../../service/src/cases/index.ts'
import { amountText, hourMs, newId, secondMs } from '../../service/src/kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, createTestService, ip, type Service, stepMsDefault } from './composition.ts'
import { quoteBody } from './fx.ts'
import { pick } from './generated-requests.ts'
import { checkoutOperations } from './hostile-checkout.ts'
import { holdOperations } from './hostile-holds.ts'
import {
  type Actor,
  amountOf,
  amounts,
  fiat,
  type HostileDay,
  names,
  note,
  type Operation,
  payeeAccounts,
  staff,
} from './hostile-parts.ts'
import { changing, payeeOperations } from './hostile-payees.ts'
import { ruleOperations } from './hostile-rules.ts'
import { createRandom } from './screening/corpus.ts'
import { dispositionFor, sampleList, screenAll } from './screening/held.ts'

const floatMinor = 100_000_00n

const partnerOperations: Readonly<Record<string, Operation>> = {
  addCustomer: async ({ random }, { customers, accounts }, { partner, customers: known }) => {
    const created = await customers.create(partner.partnerId, { kyc: { fullName: pick(random, names) } })
    const { ibans } = await accounts.create(partner.partnerId, created.id)
    known.push({ id: created.id, iban: ibans[0].iban })
  },
  renameCustomer: ({ random }, { customers }, { partner, customers: known }) =>
    customers.update(partner.partnerId, pick(random, known).id, { kyc: { fullName: pick(random, names) } }),
  eraseCustomer: ({ random }, { personalData }, { partner, customers }) =>
    personalData.erasures.erase(partner.partnerId, pick(random, customers).id, random() < 0.5),
  addPayee: async ({ random }, { beneficiaries }, { partner, customers, payees, foreignPayees }) => {
    const currency = random() < 0.7 ? 'EUR' : 'USD'
    const owner = random() < 0.6 ? { customerId: pick(random, customers).id } : {}
    const account = { iban: pick(random, payeeAccounts), currency, name: pick(random, names) }
    const { id } = await beneficiaries.create(partner.partnerId, { ...account, ...owner })
    ;(currency === 'EUR' ? payees : foreignPayees).push(id)
  },
  renamePayee: changing(({ random }, { beneficiaries }, { partner, payees }) =>
    beneficiaries.update(partner.partnerId, { id: pick(random, payees), name: pick(random, names) }),
  ),
  removePayee: async ({ random }, { beneficiaries }, { partner, payees }) => {
    const id = pick(random, payees)
    await beneficiaries.remove(partner.partnerId, id)
    // Later payments name it again, but not so many that nothing is paid any more.
    if (random() < 0.7 && payees.length > 1) payees.splice(payees.indexOf(id), 1)
  },
  pay: async (day, { payouts }, actor) => {
    const beneficiaryId = pick(day.random, actor.payees)
    const body = { amount: amountOf(day), currency: 'EUR', beneficiaryId, idempotencyKey: newId() }
    actor.payouts.push((await payouts.create(actor.partner.caller, body, ip)).payout.id)
  },
  payInDollars: async (day, { fx, payouts }, actor) => {
    const quoted = await fx.quote(actor.partner.caller, quoteBody({ sellAmount: pick(day.random, amounts) }))
    const body = {
      quoteId: quoted.row.row.id,
      beneficiaryId: pick(day.random, actor.foreignPayees),
      idempotencyKey: newId(),
    }
    actor.payouts.push((await payouts.createFx(actor.partner.caller, body, ip)).payout.id)
  },
  convert: async ({ random }, { fx }, { partner: { caller } }) => {
    const quoted = await fx.quote(
      caller,
      quoteBody({ sellAmount: pick(random, amounts), buy: pick(random, ['USD', 'GBP']) }),
    )
    await fx.convert(caller, { quoteId: quoted.row.row.id, idempotencyKey: newId() }, ip)
  },
  withdraw: async (day, { simulations }, { partner, customers }) => {
    const outcome = pick(day.random, ['sent', 'completed', 'failed'] as const)
    const body = { customerId: pick(day.random, customers).id, amount: amountOf(day), currency: 'EUR', outcome }
    await simulations.withdrawal(partner.caller, body as never, ip)
  },
  transfer: async (day, { accounts }, { partner, customers }) => {
    const fromCustomerId = day.random() < 0.5 ? { fromCustomerId: pick(day.random, customers).id } : {}
    const toCustomerId = day.random() < 0.7 ? { toCustomerId: pick(day.random, customers).id } : {}
    const currency = day.random() < 0.8 ? 'EUR' : 'USD'
    const body = { amount: amountOf(day), currency, ...fromCustomerId, ...toCustomerId }
    await accounts.transfer(partner.partnerId, body, { caller: partner.caller, ip, requestId: newId() })
  },
  cancel: ({ random }, { payouts }, { partner, payouts: made }) =>
    payouts.cancel(partner.partnerId, pick(random, made)),
  approve: ({ random }, { payouts }, { partner: { caller }, payouts: made }) => {
    const by = { ...caller, serviceAccountId: newId(), name: pick(random, staff) }
    return random() < 0.7 ? payouts.approve(by, pick(random, made)) : payouts.reject(by, pick(random, made), note)
  },
  deposit: (day, { simulations }, { partner, customers }) => {
    const outcome = pick(day.random, ['completed', 'failed', 'expired'] as const)
    const body = {
      customerId: pick(day.random, customers).id,
      amount: amountOf(day),
      currency: pick(day.random, fiat),
      outcome,
    }
    return simulations.deposit(partner.caller, body as never, ip)
  },
  credit: async (day, { simulations }, { partner, customers, credits, sessions }) => {
    const paid = sessions.length > 0 && day.random() < 0.6 ? pick(day.random, sessions) : undefined
    const iban = paid?.iban ?? pick(day.random, customers).iban
    const remittance = paid?.creditorReference ?? 'Thank you'
    const body = {
      iban,
      amount: amountOf(day),
      currency: pick(day.random, fiat),
      debtorName: pick(day.random, names),
      remittance,
    }
    credits.push((await simulations.credit(partner.caller, body as never)).creditId)
  },
  reverseCredit: ({ random }, { simulations }, { partner, credits }) =>
    simulations.reverseCredit(partner.caller, pick(random, credits)),
}

const operatorOperations: Readonly<Record<string, Operation>> = {
  changeState: ({ random }, { db, accounts }, { partner: { partnerId }, customers }) => {
    const account = random() < 0.15 ? ({ currency: 'EUR' } as const) : { customerRef: pick(random, customers).id }
    const state = pick(random, ['Active', 'Active', 'BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed'] as const)
    // A closed balance ends the day of its partner.
    const chosen = 'currency' in account && (state === 'Closed' || random() < 0.6) ? 'Active' : state
    const change = {
      partnerId,
      account,
      state: chosen,
      reason: 'CourtOrder',
      note,
      staff: pick(random, staff),
    } as const
    return db.transaction((tx) => accounts.changeState(tx, change))
  },
  /** Short parties prevent a balance from being segregated, unless own money of the partner covers them. */
  changeMode: ({ random }, { db, ledger }, { partner: { partnerId } }) => {
    const currency = pick(random, fiat)
    const segregates = random() < 0.7
    return db.transaction(async (tx) => {
      if (!segregates) return ledger.pool(tx, partnerId, currency)
      const short = await ledger.segregate(tx, partnerId, currency)
      if (short.length > 0) throw new Refusal('insufficient_funds', 'Parties have less than nothing.')
    })
  },
  cover: ({ random }, { accounts, db, ledger }, { partner: { partnerId } }) => {
    const currency = pick(random, fiat)
    return db.transaction(async (tx) => {
      for (const { partyId: toCustomerId, missing } of (await ledger.shortParties(tx, partnerId, currency)).short) {
        if (toCustomerId === partnerId) continue
        const amount = rawNumber(amountText(missing, currency))
        await accounts.transfer(partnerId, { amount, currency, toCustomerId }, undefined, tx)
      }
    })
  },
  loadList: ({ random, lists }, { screening }) => screening.lists.load(pick(random, lists), pick(random, staff)),
  decideHit: async ({ random }, { db, screening }) => {
    const open = await screening.openHits(undefined, 50)
    if (open.length === 0) return
    const hit = pick(random, open)
    const { partnerId, id } = hit
    const outcome = random() < 0.6 ? 'clear' : 'confirm'
    const found = { outcome, disposition: dispositionFor(hit, outcome) } as const
    await db.transaction((tx) => screening.decide(tx, { partnerId, id, ...found, staff: pick(random, staff), note }))
  },
  decideCase: async ({ random }, { db, cases, decisions }, { partner }) => {
    const open = await cases.list(undefined, 50)
    if (open.length === 0) return
    const { partnerId, id, proposalId } = pick(random, open)
    const by = pick(random, staff)
    if (proposalId !== null) await db.transaction((tx) => decisions.approve(tx, { partnerId, id, staff: by }))
    else {
      const proposing = {
        partnerId,
        id,
        action: pick(random, caseActions),
        staff: by,
        note,
        toPartnerId: partner.partnerId,
      }
      await db.transaction((tx) => decisions.propose(tx, proposing))
    }
  },
}

async function settle(service: Service): Promise<void> {
  const { settlement, deposits, payoutLife, personalData, cancellations, rates, screener, monitoring } = service
  await rates.refreshStep()
  await screener.sweepStep()
  await screener.screenStep()
  await deposits.screenDue(100)
  await submitDuePayouts(settlement)
  await processBankNotifications(settlement)
  await deposits.expireDue(100)
  await monitoring.step()
  await cancellations.step()
  await payoutLife.expireApprovalsStep()
  await personalData.erasures.step()
}

const worker: Operation = async ({ random, services }, service) => {
  const ms = pick(random, [0, stepMsDefault, 6 * secondMs, 31 * secondMs, hourMs])
  for (const { clock } of services) clock.advance(ms)
  await settle(service)
}

const operations = new Map(
  Object.entries({
    ...partnerOperations,
    ...checkoutOperations,
    ...operatorOperations,
    ...ruleOperations,
    ...payeeOperations,
    ...holdOperations,
  }),
)
/** Money moves more often than anything else, and workers run between. */
const drawn = [
  ...operations.keys(),
  ...['reverseCredit', 'payInDollars', 'transfer', 'changeMode', 'deposit', 'addCustomer', 'changeRule', 'decideAlert'],
  ...['changePayeeRule', 'fund', 'convertHeld', 'payHeld', 'refund', 'payVerified'],
  ...['pay', 'credit', 'addPayee', 'openSession', 'payExactly'].flatMap((name) => [name, name]),
  ...['refund', 'addVerified', 'payVerified', 'moveHeld', 'renameInPayment'].flatMap((name) => [name, name]),
]

async function run(day: HostileDay, name: string, operation: Operation): Promise<void> {
  const count = day.counts.get(name) ?? { done: 0, refused: 0 }
  day.counts.set(name, count)
  try {
    await operation(day, pick(day.random, day.services), pick(day.random, day.actors))
    count.done += 1
  } catch (error) {
    count.refused += 1
    if (!(error instanceof Refusal)) day.faults.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

/** Fees, limits and approvals that some of the amounts meet. */
const controlled = ({ db, payoutControls }: Service, partnerId: string) =>
  db.transaction(async (tx) => {
    const of = { partnerId, currency: 'EUR' } as const
    await payoutControls.limits.set(tx, { ...of, scope: 'partner', period: 'payment', amount: 5_000_00n })
    await payoutControls.limits.set(tx, { ...of, scope: 'customer', period: 'day', amount: 12_000_00n })
    const fee = { fixedAmount: 25n, basisPoints: 50, minAmount: 0n, maxAmount: 10_00n }
    await payoutControls.fees.set(tx, { ...of, rail: 'any', ...fee })
    const rule = { aboveAmount: 4_001_04n, payeeMismatch: true }
    await payoutControls.approvalRules.set(tx, approvalRule(partnerId, rule))
  })

export async function startHostileDay(seed: number, partners: number): Promise<HostileDay> {
  const first = await createTestService({ connectionsMax: 12 })
  const second = await createTestService({ url: first.url, connectionsMax: 12 })
  await first.db.transaction((tx) => first.access.addOperator(tx, operatorPartnerId))
  for (const { rates } of [first, second]) await rates.prepare()
  const list = await sampleList()
  const lists = [list, { ...list, entries: list.entries.slice(0, -1) }] as const
  const actors: Actor[] = []
  for (let index = 0; index < partners; index += 1) {
    const partner = await addPartner(first, floatMinor)
    const { ibans } = await first.accounts.create(partner.partnerId, partner.customer.id)
    await controlled(first, partner.partnerId)
    const address = { city: 'Berlin', country: 'DE' }
    const foreign = { iban: 'DE89370400440532013000', currency: 'USD', name: 'Grace Hopper', address }
    const { id } = await first.beneficiaries.create(partner.partnerId, foreign)
    const order = {
      amount: rawNumber('49.90'),
      currency: 'EUR',
      idempotencyKey: newId(),
      customerId: partner.customer.id,
    }
    const { session } = await first.checkout.create(partner.caller, order)
    actors.push({
      partner,
      customers: [{ id: partner.customer.id, iban: ibans[0].iban }],
      payees: [partner.beneficiary.id, partner.ownBeneficiary.id],
      foreignPayees: [id],
      payouts: [newId()],
      credits: [newId()],
      sessions: [{ id: session.id, creditorReference: session.creditorReference, iban: session.iban }],
    })
  }
  return {
    services: [first, second],
    actors,
    random: createRandom(seed),
    lists,
    held: new Map(),
    changes: { begun: 0, running: 0 },
    late: [],
    counts: new Map(),
    faults: [],
  }
}

/** Up to four operations at once, then a worker of one process or of both. */
export async function liveThrough(day: HostileDay, operationsMax: number): Promise<void> {
  for (let done = 0; done < operationsMax && day.faults.length < 10;) {
    const at = Array.from({ length: 1 + Math.floor(day.random() * 4) }, () => pick(day.random, drawn))
    const works = day.random() < 0.4 ? [run(day, 'worker', worker), run(day, 'worker', worker)] : []
    await Promise.all([...works, ...at.map((name) => run(day, name, operations.get(name) ?? worker))])
    done += at.length
  }
}

/** The workers run until nothing moves. What waits for a person stays. */
export async function drain({ services }: HostileDay): Promise<void> {
  const [service] = services
  for (let rounds = 0; rounds < 12; rounds += 1) {
    service.clock.advance(40 * secondMs)
    await screenAll(service)
    await settle(service)
  }
}
