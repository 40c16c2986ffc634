/**
 * Credits: money that has arrived on one of our accounts without earlier steps of a deposit. A credit whose creditor
 * reference names a waiting deposit pays that deposit. Any other credit becomes a deposit of the owner of the account.
 */
import type { PaymentMethod, Rail } from '@partner-payments/wire'
import { notFound, Refusal } from '../kernel/api/index.ts'
import { referencesInTexts } from '../iso20022/index.ts'
import { firstIdOf, isFiat, newId, partnerKey, present, type RowKey, type Money } from '../kernel/index.ts'
import type { TriggerOutcome, AppliedOutcome } from '../lifecycle/index.ts'
import { createBatcher, type Tx, withoutTransaction } from '../postgres/index.ts'
import type { BankNotification } from '../rails/index.ts'
import type { NewEvent } from '../events/index.ts'
import type { Payer } from '../parties/customers/index.ts'
import type { NewTransaction } from '../transactions/index.ts'
import { type AccountOwner, type CreditOutcome, type DepositsDeps, payerParty } from './deps.ts'
import * as events from './events.ts'
import { awaitingParts, type DepositCreditTrigger, type DepositStatus } from './lifecycle.ts'
import { requireOpenAccount } from './inbound.ts'
import { createReverse, type ReversalNotification, type WithdrawSuspended } from './reversals.ts'
import * as store from './store.ts'
import * as matchingStore from './store-parts.ts'

export type Credits = {
  /**
   * Applies a credit. Concurrent calls share transactions. `unknown`: the account is not ours and the credit names no
   * deposit, or several.
   */
  readonly processCredit: (connector: string, notification: CreditNotification) => Promise<CreditOutcome>
  /** Reads the amount and currency of a credit. Undefined: the credit has paid no deposit of the partner. */
  readonly moneyOfCredit: (tx: Tx, partnerId: string, connector: string, creditId: string) => Promise<Money | undefined>
  /**
   * Credits money whose owner an operator has found, in the caller's transaction: it becomes a deposit like any credit,
   * even if the account is blocked. Returns false if the owner already has it. Refuses: not_found (customerId),
   * account_blocked (closed), validation_failed (names that are not screened yet).
   */
  readonly creditOwner: (
    tx: Tx,
    connector: string,
    owner: AccountOwner,
    notification: CreditNotification,
  ) => Promise<boolean>
  /**
   * Credits unmatched money that its partner has accepted, in the caller's transaction. Checked like any credit:
   * screening may hold it, and a block sends it to suspense. Refuses: not_found (customerId), request_in_progress
   * (names that are not screened yet), late_payment_decided (a deposit has the credit).
   */
  readonly acceptCredit: (
    tx: Tx,
    connector: string,
    owner: AccountOwner,
    notification: CreditNotification,
    purpose: CreditPurpose,
  ) => Promise<{ readonly id: string; readonly reference: string }>
  /** Returns those credits whose money a partner has received. */
  readonly creditsCompleted: typeof matchingStore.receivedCredits
  /** Lists unpaid deposits of a partner with this amount, created since a time, newest first. */
  readonly waitingOfAmount: (
    tx: Tx,
    partnerId: string,
    money: Money,
    since: Date,
  ) => Promise<readonly matchingStore.DepositCandidate[]>
  /** Finds deposits by the creditor references in these texts, of one partner or of all. */
  readonly namedIn: (
    tx: Tx,
    partnerId: string | undefined,
    texts: readonly string[],
  ) => Promise<readonly matchingStore.DepositCandidate[]>
  /** Takes the money of a credit back and opens a case. `unknown`: no deposit was created from the credit. */
  readonly processReversal: (connector: string, notification: ReversalNotification) => Promise<CreditOutcome>
}

/** Payment for which money is accepted: the new deposit has the same session and the same texts of the partner. */
type CreditPurpose = Pick<store.Deposit, 'sessionId' | 'websiteReference' | 'customFields' | 'paymentMethod'>

type Booking = {
  readonly connector: string
  readonly owner: AccountOwner
  readonly notification: CreditNotification
  readonly purpose?: CreditPurpose
}

const waitingMax = 100
const creditsPerBatchMax = 512
const batchesUnderWayMax = 2

/** Applies credits in a shared transaction, or in the caller's. */
type ApplyCredits = {
  readonly inBatches: (trigger: DepositCreditTrigger) => Promise<AppliedOutcome>
  readonly inTransaction: (tx: Tx, triggers: readonly DepositCreditTrigger[]) => Promise<readonly TriggerOutcome[]>
  readonly withdraw: WithdrawSuspended
}

export function createCredits(deps: DepositsDeps, apply: ApplyCredits): Credits {
  const { db, customers } = deps
  const locate = createBatcher({
    db: withoutTransaction(db),
    work: (tx: Tx, credits: readonly ReportedCredit[]) => locateAll(deps, tx, credits),
    callsMax: creditsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ notification: { partnerId } }) => partnerId,
  })
  // Created and credited in the same transaction: a deposit of a credit is never visible before its money.
  const complete = createBatcher({
    db,
    work: async (tx: Tx, bookings: readonly Booking[]) => {
      const ids = await bookDeposits(deps, tx, bookings)
      const triggers = bookings.map((booking, index) => ids[index] && toTrigger(booking, ids[index]))
      const open = triggers.filter((trigger) => typeof trigger === 'object')
      const advanced = new Map<unknown, TriggerOutcome>()
      for (const [index, outcome] of (await apply.inTransaction(tx, open)).entries()) advanced.set(open[index], outcome)
      return triggers.map((trigger) =>
        typeof trigger === 'object'
          ? { trigger, advanced: present(advanced.get(trigger), `no answer for deposit ${trigger.subjectId}`) }
          : 'erased',
      )
    },
    callsMax: creditsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ owner }) => owner.partnerId,
    byIndex: true,
  })
  return {
    processCredit: async (connector, notification) => {
      if (notification.money.amount <= 0n) return { applied: 'contradiction', partnerId: notification.partnerId }
      const located = await locate({ connector, notification })
      if (located === undefined) return { applied: 'unknown', partnerId: notification.partnerId }
      if ('several' in located) return { applied: 'unknown', partnerId: located.several }
      if ('deposit' in located) {
        const { partnerId, id: depositId } = located.deposit
        const applied = await apply.inBatches(toCredit(connector, located.deposit, notification))
        return { applied, partnerId, depositId }
      }
      const { partnerId } = located.owner
      const completed = await complete({ connector, owner: located.owner, notification })
      // The customer was erased after the look-up, and its account closed: the account counts as unknown.
      if (completed === 'erased') return { applied: 'unknown', partnerId: notification.partnerId }
      const { trigger, advanced } = completed
      // If a batch has the same credit twice, the second is processed after the first. If a name waits for screening,
      // the bank repeats its report, and the newest list is then in memory.
      const isRepeated = advanced === 'deferred' || advanced === 'early'
      return { applied: isRepeated ? await apply.inBatches(trigger) : advanced, partnerId }
    },
    creditOwner: async (tx, connector, { partnerId, customerId }, notification) => {
      const customer = customerId === null ? undefined : await customers.find(tx, partnerId, customerId)
      const owner = { partnerId, customerId: customer?.id ?? null }
      await requireOpenAccount(deps, tx, owner, notification.money.currency)
      const booking = { connector, owner, notification }
      const [id] = await bookDeposits(deps, tx, [booking])
      if (id === undefined) throw notFound('customer')
      const decided = { ...toTrigger(booking, id), isDecided: true }
      const [applied] = await apply.inTransaction(tx, [decided])
      if (applied === 'early')
        throw new Refusal('validation_failed', 'The names are not screened yet. Repeat the command in a minute.')
      return applied === true
    },
    acceptCredit: async (tx, connector, owner, notification, purpose) => {
      const booking = { connector, owner, notification, purpose }
      const [id] = await bookDeposits(deps, tx, [booking])
      if (id === undefined) throw notFound('customer')
      const [applied] = await apply.inTransaction(tx, [toTrigger(booking, id)])
      if (applied === 'early')
        throw new Refusal('request_in_progress', 'The names are not screened yet. Repeat the request in a minute.')
      if (applied !== true)
        throw new Refusal('late_payment_decided', 'The money has already been credited as a payment.')
      const [row] = await store.depositsByIds(tx, [{ partnerId: owner.partnerId, id }])
      return { id, reference: present(row, `no deposit ${id} of an accepted credit`).reference }
    },
    creditsCompleted: matchingStore.receivedCredits,
    waitingOfAmount: (tx, partnerId, money, since) =>
      matchingStore.unpaidDepositsOfAmount(tx, partnerId, { ...money, after: firstIdOf(since), rowsMax: waitingMax }),
    namedIn: async (tx, partnerId, texts) => {
      const references = referencesInTexts(...texts).flat()
      const found = references.length === 0 ? [] : await matchingStore.depositsByReference(tx, references)
      return found.filter((deposit) => partnerId === undefined || deposit.partnerId === partnerId)
    },
    moneyOfCredit: store.readMoneyOfCredit,
    processReversal: createReverse({ ...deps, withdraw: apply.withdraw }),
  }
}

const toTrigger = ({ connector, owner: { partnerId }, notification }: Booking, id: string): DepositCreditTrigger =>
  toCredit(connector, { partnerId, id }, notification)

function toCredit(
  connector: string,
  { partnerId, id: subjectId }: RowKey,
  { id, subjectId: creditId, money, debtor, transactionHash, account, remittance, endToEndId }: CreditNotification,
): DepositCreditTrigger {
  const origin = { account, remittance, endToEndId }
  const hash = transactionHash === undefined ? {} : { transactionHash }
  const credited = { connector, partnerId, id, subjectId, creditId, money, debtor, ...hash }
  return { kind: 'credit', ...credited, origin, isDecided: false }
}

/**
 * Creates accepted deposits and returns their ids, and those of credits that already have one. Undefined: the customer
 * was erased. An erasure waits for this transaction. A credit that another transaction books at the same time is a
 * unique violation.
 */
async function bookDeposits(
  deps: DepositsDeps,
  tx: Tx,
  bookings: readonly Booking[],
): Promise<readonly (string | undefined)[]> {
  const { clock, customers, eventOutbox, transactions } = deps
  const known = await knownCredits(tx, bookings)
  const unbooked = [...new Map(bookings.map((booking) => [bookingKey(booking), booking]))].filter(
    ([key]) => !known.has(key),
  )
  const owners = await customers.heldPayersByIds(
    tx,
    unbooked.flatMap(([, { owner }]) =>
      owner.customerId === null ? [] : [{ partnerId: owner.partnerId, id: owner.customerId }],
    ),
  )
  const fresh = unbooked.filter(([, { owner }]) => !isErased(owners, owner))
  const now = clock.now()
  const opened = transactions.openMany(
    tx,
    fresh.map(([, booking]) => toTransaction(booking)),
    new Set(),
  )
  const made = fresh.map(([key, booking], index) => {
    const row = toDeposit(deps, booking, present(opened[index], `no transaction for credit ${key}`), now)
    return { key, booking, row }
  })
  if (made.length > 0)
    await store.insertDeposits(
      tx,
      made.map(({ row }) => row),
    )
  eventOutbox.appendMany(
    tx,
    made.flatMap(({ booking, row }) => toAcceptedEvent(booking, row, owners, now)),
  )
  const ids = new Map([...known, ...made.map(({ key, row }) => [key, row.id] as const)])
  return bookings.map((booking) => ids.get(bookingKey(booking)))
}

const isErased = (owners: ReadonlyMap<string, Payer>, { partnerId, customerId }: Booking['owner']) =>
  customerId !== null && owners.get(partnerKey(partnerId, customerId))?.isErased !== false

const bookingKey = ({ connector, owner: { partnerId }, notification: { subjectId } }: Booking) =>
  partnerKey(partnerId, connector, subjectId)

/** Finds the ids of known deposits by `creditKey`. */
async function knownCredits(tx: Tx, bookings: readonly Booking[]): Promise<ReadonlyMap<string, string>> {
  const rows = await store.knownCreditsOf(
    tx,
    bookings.map(({ owner: { partnerId }, notification: { subjectId } }) => ({ partnerId, creditId: subjectId })),
  )
  return new Map(rows.map(({ partnerId, connector, creditId, id }) => [partnerKey(partnerId, connector, creditId), id]))
}

const creditRail = (currency: store.Deposit['currency']): Rail =>
  !isFiat(currency) ? 'Wallet' : currency === 'EUR' ? 'Sepa' : 'Swift'
const creditMethod = (currency: store.Deposit['currency']): PaymentMethod =>
  !isFiat(currency) ? 'Wallet' : currency === 'EUR' ? 'SepaCreditTransfer' : 'Swift'

function transactionType({ owner, notification: { money } }: Booking): NewTransaction['type'] {
  if (!isFiat(money.currency)) return 'TokenTransferIn'
  return owner.customerId === null ? 'PartnerDeposit' : 'PartnerCustomerDeposit'
}

function toTransaction(booking: Booking): NewTransaction {
  const {
    owner,
    purpose,
    notification: { partnerId: payerId, account, money, debtor, remittance, endToEndId, transactionHash, ...given },
  } = booking
  // Another partner's reference is not shown, because it could equal one of the payee. Both have the end-to-end id.
  const originating = owner.partnerId === payerId ? given.originatingReference : undefined
  return {
    ...owner,
    reference: null,
    ...money,
    category: 'Deposit',
    direction: 'Inward',
    type: transactionType(booking),
    rail: creditRail(money.currency),
    steps: ['Created', 'Accepted'],
    actor: 'bank',
    creditor: isFiat(money.currency) ? { iban: account } : { walletAddress: account },
    debtor: payerParty(debtor, money.currency),
    ...(endToEndId === null ? {} : { endToEndId }),
    ...(remittance === null || remittance === '' ? {} : { description: remittance }),
    ...(transactionHash === undefined ? {} : { transactionHash }),
    ...(originating === undefined ? {} : { originatingReference: originating }),
    ...(purpose === undefined ? {} : { sessionId: purpose.sessionId, websiteReference: purpose.websiteReference }),
  }
}

function toDeposit(
  { screening }: Pick<DepositsDeps, 'screening'>,
  { connector, owner, notification, purpose }: Booking,
  { id: transactionId, reference }: { readonly id: string; readonly reference: string },
  now: Date,
): store.DepositRow {
  const { money, debtor, subjectId: creditId, endToEndId, transactionHash = null, method } = notification
  const id = newId()
  return {
    ...owner,
    id,
    operation: 'credit',
    idempotencyKey: null,
    requestFingerprint: '',
    transactionId,
    reference,
    ...money,
    status: 'Accepted',
    sessionId: purpose?.sessionId ?? '',
    endToEndId: endToEndId ?? '',
    paymentMethod: purpose?.paymentMethod ?? method ?? creditMethod(money.currency),
    paymentCountry: debtor.countryCode,
    ipAddress: '',
    websiteReference: purpose?.websiteReference ?? null,
    customFields: purpose?.customFields ?? null,
    debtor: JSON.stringify(debtor),
    errorDetails: null,
    expiresAt: null,
    heldSince: now,
    expiryDate: now,
    createdAt: now,
    updatedAt: now,
    connector,
    creditId,
    transactionHash,
    settledBy: null,
    craftText: screening.textOf([notification.remittance, endToEndId]),
    inParts: false,
    reversedAt: null,
    reversedBy: null,
    creditorReference: null,
  }
}

type AcceptedEvent = NewEvent<'partner.customer.deposit.accepted'>

/** Creates the event of an accepted deposit. A deposit of the partner itself only has the event of its transaction. */
function toAcceptedEvent(
  { notification: { debtor } }: Booking,
  row: store.DepositRow,
  owners: ReadonlyMap<string, Payer>,
  now: Date,
): readonly AcceptedEvent[] {
  const { partnerId, customerId } = row
  if (customerId === null) return []
  const customer = present(
    owners.get(partnerKey(partnerId, customerId)),
    `no customer ${customerId} for deposit ${row.id}`,
  )
  const type = 'partner.customer.deposit.accepted'
  return [{ partnerId, occurredAt: now, type, data: events.acceptedEvent(row, customer, debtor) }]
}

// Finds the owner of a credit: the deposit that a creditor reference names, or the owner of the account.

type CreditNotification = Extract<BankNotification, { readonly kind: 'credit.booked' }>
type ReportedCredit = { readonly connector: string; readonly notification: CreditNotification }

/**
 * `several`: the credit names deposits, but it is not certain which one is meant. It has the partner in whose ledger
 * the case is opened.
 */
type LocatedCredit =
  | { readonly deposit: RowKey }
  | { readonly owner: AccountOwner }
  | { readonly several: string }
  | undefined

/** Enough for some thousand ordinary credits, or for a few hostile ones. */
const referencesPerStatementMax = 5000

/**
 * Looks up each possible reference in the texts, because other words may surround the right one. A reference counts if
 * the account is the same partner's or not ours: a payer must not choose the owner of the money.
 */
async function locateAll(
  { ownersOf }: Pick<DepositsDeps, 'ownersOf'>,
  tx: Tx,
  credits: readonly ReportedCredit[],
): Promise<readonly LocatedCredit[]> {
  const named = credits.map(({ notification: { creditorReferences, remittance, endToEndId } }) =>
    creditorReferences === undefined ? referencesInTexts(remittance, endToEndId) : creditorReferences,
  )
  const [owners, deposits] = await Promise.all([
    ownersOf(tx, [...new Set(credits.map(({ notification: { account } }) => account))]),
    findNamedDeposits(tx, [...new Set(named.flat(2))]),
  ])
  const found = credits.map(({ notification: { account } }, index) => {
    const owner = owners.get(account)
    const lists = (named[index] ?? []).map((references) =>
      [...new Set(references)]
        .flatMap((reference) => deposits.get(reference) ?? [])
        .filter(({ partnerId }) => owner === undefined || owner.partnerId === partnerId),
    )
    return lists.find((list) => list.length > 0) ?? []
  })
  const applied = await findAppliedDeposits(
    tx,
    credits.filter((_credit, index) => (found[index] ?? []).length > 0),
  )
  return credits.map((credit, index): LocatedCredit => {
    const { account, partnerId } = credit.notification
    const owner = owners.get(account)
    const list = found[index] ?? []
    if (list.length === 0) return owner && { owner }
    // The bank repeats the credit: its deposits may have ended since then.
    const deposit = applied.get(creditKey(credit)) ?? chooseDeposit(list)
    return deposit === undefined ? { several: owner?.partnerId ?? onlyPartner(list) ?? partnerId } : { deposit }
  })
}

async function findNamedDeposits(
  tx: Tx,
  references: readonly string[],
): Promise<ReadonlyMap<string, readonly store.ReferencedDeposit[]>> {
  const found: store.ReferencedDeposit[] = []
  for (let from = 0; from < references.length; from += referencesPerStatementMax)
    found.push(
      ...(await store.depositsByCreditorReference(tx, references.slice(from, from + referencesPerStatementMax))),
    )
  return Map.groupBy(found, ({ creditorReference }) => creditorReference)
}

const creditKey = ({ connector, notification: { subjectId } }: ReportedCredit): string =>
  partnerKey(connector, subjectId)

/** Finds the deposits to which these credits have been applied already. */
async function findAppliedDeposits(tx: Tx, credits: readonly ReportedCredit[]): Promise<ReadonlyMap<string, RowKey>> {
  if (credits.length === 0) return new Map()
  const ids = credits.map(({ notification: { subjectId } }) => subjectId)
  const rows = await store.findDepositsOfCredits(tx, ids)
  return new Map(
    rows.map(({ connector, creditId, partnerId, id }) => [partnerKey(connector, creditId), { partnerId, id }]),
  )
}

const awaiting: ReadonlySet<DepositStatus> = new Set(awaitingParts)

/** Chooses the only deposit that waits for money. If none waits, chooses the only deposit: its status decides what happens. */
function chooseDeposit(named: readonly store.ReferencedDeposit[]): RowKey | undefined {
  const open = named.filter(({ status }) => awaiting.has(status))
  const [meant, ...others] = open.length > 0 ? open : named
  return others.length === 0 ? meant : undefined
}

function onlyPartner(named: readonly store.ReferencedDeposit[]): string | undefined {
  const [partnerId, ...others] = new Set(named.map((deposit) => deposit.partnerId))
  return others.length === 0 ? partnerId : undefined
}
