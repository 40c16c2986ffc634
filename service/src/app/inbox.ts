/** Composes the inbox: its readers, and the details of its subjects from the modules. A part of the composition root. */
import type { Access } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import { caseKindNames, type Cases, operatorPartnerId } from '../cases/index.ts'
import type { Config } from './config.ts'
import { consoleUrlOf, deskUrlOf } from './derived-settings.ts'
import { type FactKey, createInbox, type FactDetails, type Inbox } from '../inbox/index.ts'
import { after, amountText, type Clock, dayMs, isUuid } from '../kernel/index.ts'
import type { MailQueue } from '../mail/index.ts'
import type { Payouts, PayoutRow, WaitingApproval } from '../payouts/index.ts'
import type { Recalls } from '../payouts/recalls/index.ts'
import type { StandingOrders } from '../payouts/standing-orders/index.ts'
import { createStaffChanges, staffAccounts } from '../people/staff/index.ts'
import { type Members, listTeam } from '../people/users/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { Screening } from '../screening/index.ts'

type Deps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly access: Pick<Access, 'findServiceAccount' | 'addOperator' | 'isClosed' | 'issuerOf'>
  readonly audit: Pick<Audit, 'append'>
  readonly mail: Pick<MailQueue, 'enqueue' | 'endPending'>
  readonly cases: Pick<Cases, 'byIds'>
  readonly members: { readonly singleSignOn: Pick<Members['singleSignOn'], 'waiting'> }
  readonly payouts: Pick<Payouts, 'byIds' | 'waitingAmong'>
  readonly recalls: Pick<Recalls, 'byIds'>
  readonly standingOrders: Pick<StandingOrders, 'byIds'>
  readonly screening: Pick<Screening, 'isConfirmed' | 'filterOpen'>
}

/** Far above the size of a team. */
const teamMax = 1000

export function composeInbox(deps: Deps): Inbox {
  const { config, access, screening } = deps
  return createInbox({
    ...deps,
    teamOf: (tx, partnerId) => listTeam(tx, partnerId, teamMax),
    staffOf: staffAccounts,
    operatorId: operatorPartnerId,
    addOperator: access.addOperator,
    detailsOf: createDetails(deps),
    isBarred: async (tx, partnerId, id) =>
      partnerId !== operatorPartnerId &&
      ((await access.isClosed(tx, partnerId)) || screening.isConfirmed(tx, { partnerId, kind: 'person', id })),
    gatherSeconds: config.INBOX_GATHER_SECONDS,
    consoleUrl: consoleUrlOf(config),
    deskUrl: deskUrlOf(config).origin,
  })
}

type ReadDetails = (
  deps: Deps,
  tx: Tx,
  partnerId: string,
  subjects: readonly string[],
) => Promise<ReadonlyMap<string, FactDetails>>

/** Detail readers by type family, which is the text before the point of a type. */
const readers: Readonly<Record<string, ReadDetails>> = {
  payout: readPayouts,
  bulk: readWaiting,
  order: readOrders,
  refund: readRefunds,
  late: readLate,
  recall: readRecalls,
  key: readKeys,
  signOn: readSignOn,
  case: readCases,
  alert: readCases,
  hit: readHits,
  change: readChanges,
}

const typeFamily = (type: string): string => type.split('.')[0] ?? type

/** Reads details by type family: one or two statements for each, for any number of facts. */
const createDetails =
  (deps: Deps) =>
  async (tx: Tx, partnerId: string, asked: readonly FactKey[]): Promise<readonly (FactDetails | undefined)[]> => {
    const found = new Map<string, ReadonlyMap<string, FactDetails>>()
    for (const [family, group] of Map.groupBy(asked, ({ type }) => typeFamily(type))) {
      const subjects = [...new Set(group.map(({ subject }) => subject))].filter(isUuid)
      const read = readers[family]
      if (read !== undefined) found.set(family, await read(deps, tx, partnerId, subjects))
    }
    return asked.map(({ type, subject, facts }) => {
      const details = found.get(typeFamily(type))?.get(subject)
      const { by = null, until = null } = facts
      if (details !== undefined && until !== null) return currentUntil(details, new Date(until), deps.clock.now())
      // The person who rejected it is not notified.
      if (type.endsWith('.rejected') && by !== null) return { isCurrent: false, ...details, notForNames: [by] }
      // The person who proposed it cannot approve it.
      return details !== undefined && type.endsWith('.proposed') && by !== null
        ? { ...details, notForNames: [by] }
        : details
    })
  }

/** Adds the deadline of the fact to its details, which are not current after it. */
const currentUntil = (details: FactDetails, until: Date, now: Date): FactDetails => ({
  ...details,
  until,
  isCurrent: details.isCurrent && now < until,
})

const moneyFields = ({ amount, currency }: Pick<PayoutRow, 'amount' | 'currency'>) => ({
  amount: amountText(amount, currency),
  currency,
})

const payoutDetails = (payout: PayoutRow): FactDetails => ({
  isCurrent: false,
  amounts: [moneyFields(payout)],
  payee: payout.creditorName,
  reference: payout.remittance ?? payout.reference,
  reason: payout.errorDetails ?? undefined,
})

type Issuers = ReadonlyMap<string, Awaited<ReturnType<Access['issuerOf']>>>

/** Reads who issued the keys that requested payments, each once, because a key can request many payments. */
async function readIssuers({ access }: Deps, tx: Tx, partnerId: string, waiting: readonly WaitingApproval[]) {
  const issuers = new Map<string, Awaited<ReturnType<Access['issuerOf']>>>()
  for (const id of new Set(waiting.flatMap(({ requestedBy }) => requestedBy)))
    issuers.set(id, await access.issuerOf(tx, partnerId, id))
  return issuers
}

/** Describes a waiting approval. Excludes those who requested it and the issuers of their keys, because they may not approve it. */
function waitingDetails(waiting: WaitingApproval, issuers: Issuers): FactDetails {
  const { expiresAt: until, requestedBy, requestedNames } = waiting
  const known = requestedBy.flatMap((id) => issuers.get(id) ?? [])
  const common = {
    ...{ isCurrent: true, until, askedBy: requestedNames.join(', ') },
    notFor: [...requestedBy, ...known.map(({ id }) => id)],
    notForNames: [...requestedNames, ...known.map(({ name }) => name)],
  }
  return waiting.kind === 'payout'
    ? { ...payoutDetails(waiting.payout), ...common }
    : { ...common, amounts: waiting.totals.map(moneyFields), payouts: waiting.payouts }
}

async function readWaiting(
  deps: Deps,
  tx: Tx,
  partnerId: string,
  bulkIds: readonly string[],
  payoutIds: readonly string[] = [],
) {
  const waiting = await deps.payouts.waitingAmong(tx, partnerId, { payoutIds, bulkIds })
  const issuers = await readIssuers(deps, tx, partnerId, [...waiting.values()])
  return new Map([...waiting].map(([id, each]) => [id, waitingDetails(each, issuers)]))
}

async function readPayouts(deps: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  const rows = await deps.payouts.byIds(tx, partnerId, [...ids])
  const waiting = await readWaiting(
    deps,
    tx,
    partnerId,
    [],
    rows.filter(({ status }) => status === 'PendingApproval').map(({ id }) => id),
  )
  return new Map(rows.map((payout) => [payout.id, waiting.get(payout.id) ?? payoutDetails(payout)]))
}

async function readOrders({ standingOrders }: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  const rows = await standingOrders.byIds(tx, partnerId, ids)
  return new Map(
    rows.map(({ id, payee, reference, ...order }): [string, FactDetails] => [
      id,
      { isCurrent: false, amounts: [moneyFields(order)], payee, reference: reference ?? undefined },
    ]),
  )
}

async function readRefunds(deps: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  // A refund has the id of its payout.
  const rows = await deps.payouts.byIds(tx, partnerId, [...ids])
  return new Map(rows.map((payout) => [payout.id, payoutDetails(payout)]))
}

/** Describes late payments, by the id of their case. The partner may choose while the case is open and the money is not being returned. */
async function readLate({ cases }: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  const rows = await cases.byIds(tx, partnerId, ids)
  return new Map(
    rows.map(({ id, currency, booked, resolution, returningSince }): [string, FactDetails] => [
      id,
      {
        isCurrent: resolution === null && returningSince === null,
        amounts: currency === null || booked === null ? [] : [moneyFields({ currency, amount: booked })],
      },
    ]),
  )
}

async function readRecalls({ recalls, payouts }: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  const rows = await recalls.byIds(tx, partnerId, ids)
  const paid = await payouts.byIds(tx, partnerId, [...new Set(rows.map(({ payoutId }) => payoutId))])
  const byId = new Map(paid.map((payout) => [payout.id, payout]))
  return new Map(
    rows.map(({ id, payoutId, ...recall }): [string, FactDetails] => {
      const payout = byId.get(payoutId)
      return [
        id,
        {
          isCurrent: false,
          amounts: [moneyFields(recall)],
          ...(payout && { ...payoutDetails(payout), reason: undefined }),
        },
      ]
    }),
  )
}

/** A fact about the end of a key is current only within this time before the end, which may have been postponed. */
const keySoonMs = 15 * dayMs

async function readKeys({ access, clock }: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  const details = new Map<string, FactDetails>()
  for (const id of ids) {
    const account = await access.findServiceAccount(tx, partnerId, id)
    if (account === undefined) continue
    const { status, expiresAt, name } = account
    const isCurrent = status === 'valid' && expiresAt !== null && expiresAt < after(clock.now(), keySoonMs)
    details.set(id, { isCurrent, name, until: expiresAt ?? undefined })
  }
  return details
}

async function readSignOn({ members }: Deps, _tx: Tx, partnerId: string, ids: readonly string[]) {
  const waiting = ids.length === 0 ? undefined : await members.singleSignOn.waiting(partnerId)
  if (waiting === undefined) return new Map<string, FactDetails>()
  const { id, proposedBy, proposedByName: askedBy, expiresAt: until } = waiting
  return new Map<string, FactDetails>([
    [id, { isCurrent: true, askedBy, until, notFor: [proposedBy], notForNames: [askedBy] }],
  ])
}

// Work that waits for staff, without names of parties and reports.

async function readCases({ cases }: Deps, tx: Tx, partnerId: string, ids: readonly string[]) {
  const rows = await cases.byIds(tx, partnerId, ids)
  return new Map(
    rows.map(({ id, kind, currency, booked, resolution }): [string, FactDetails] => {
      const amount = booked === null || booked >= 0n ? booked : -booked
      const amounts = currency === null || amount === null ? [] : [moneyFields({ currency, amount })]
      const names = { en: caseKindNames.en[kind], de: caseKindNames.de[kind] }
      return [id, { isCurrent: resolution === null, amounts, kind: names }]
    }),
  )
}

async function readHits({ screening }: Deps, _tx: Tx, partnerId: string, ids: readonly string[]) {
  const open = ids.length === 0 ? [] : await screening.filterOpen(partnerId, ids)
  return new Map(open.map(({ id }): [string, FactDetails] => [id, { isCurrent: true }]))
}

async function readChanges({ clock }: Deps, tx: Tx, _partnerId: string, ids: readonly string[]) {
  const waiting = ids.length === 0 ? [] : await createStaffChanges({ clock }).waiting(tx, changesMax)
  const asked = new Set(ids)
  return new Map(
    waiting
      .filter(({ id }) => asked.has(id))
      .map(({ id, proposedBy, proposedByName: askedBy, expiresAt: until }): [string, FactDetails] => [
        id,
        { isCurrent: true, askedBy, until, notFor: [proposedBy], notForNames: [askedBy] },
      ]),
  )
}
const changesMax = 500
