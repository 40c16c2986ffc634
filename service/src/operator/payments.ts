/** Commands for payments and for cases. One person proposes the resolution of a case, and another one approves it. */
import { ownJson } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { kindsHiddenFromPartners, operatorPartnerId } from '../cases/index.ts'
import { after, amountText, dayMs, present } from '../kernel/index.ts'
import { instructionIdOf, screenedParties, type PayoutSearch } from '../payouts/index.ts'
import { operatorRequester } from '../payouts/recalls/index.ts'
import { explainHold, type Hold, holds } from '../transactions/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  type CommandCall,
  runAndRecord,
  type CommandFunctions,
  type Context,
  readAllPages,
  refusalAsConfigError,
  operationCommand,
} from './context.ts'
import type { CommandName, ParsedOptions } from './declarations.ts'

type Name = CommandName & `${'payment' | 'deposit' | 'case'} ${string}`

export const paymentCommands: CommandFunctions<Exclude<Name, 'payment end'>> = {
  /** Undoes a wrong match of a credit or of a part of a session. Its money goes to suspense with a case. */
  'deposit undo': operationCommand(async ({ deposits }, tx, { partner: partnerId, reference, part: partId }) => {
    const undone = await deposits.undoCredit(tx, { partnerId, reference, partId })
    return { id: undone.caseId, partnerId, reference, correction: undone.reference }
  }),

  /** Undoes a wrong match of a bank debit with a payment. The debit goes to suspense with a case. */
  'payment undo': operationCommand(async ({ undoPayment }, tx, { partner: partnerId, payout: payoutId }) => {
    const { caseId, ...money } = await undoPayment(tx, { partnerId, payoutId })
    return { id: caseId, partnerId, payoutId, ...money }
  }),

  /** Recalls a paid payout, for example a refund of a payment that the payer's bank has reversed. */
  'payment recall': operationCommand(async ({ recalls }, tx, { partner: partnerId, payout: payoutId, reason }) => {
    const { id, status } = await recalls.create(operatorRequester(partnerId), payoutId, { reason }, tx)
    return { partnerId, payoutId, recallId: id, status }
  }),

  'payment retry': operationCommand(async ({ payouts }, tx, { partner: partnerId, payout: payoutId }) => {
    await payouts.retry(tx, partnerId, payoutId)
    return { partnerId, payoutId }
  }),

  /** Finds payouts of one or all partners, newest first within a partner. */
  'payment find': async (context, { partner, ...wanted }) => {
    const { access, payouts } = context.service
    const search = readSearch(wanted)
    const partnerIds = partner === undefined ? await access.partnerIds(context.db) : [partner]
    const found: PayoutRecord[] = []
    for (const partnerId of partnerIds) {
      found.push(...(await payouts.find(partnerId, search, paymentsMax + 1 - found.length)))
      if (found.length > paymentsMax) break
    }
    const payments = []
    for (const each of found.slice(0, paymentsMax)) payments.push(await payoutView(context, each))
    return { payments, hasMore: found.length > paymentsMax }
  },

  'case list': async ({ service: { cases } }) => {
    const open = await readAllPages<Case>(pageMax, (last) => cases.list(last, pageMax))
    return open.map(caseView)
  },

  /** Shows a case with candidates for its money, best first, and the reasons why each matches. */
  'case show': async ({ service: { cases, reconciliation }, db }, { partner: partnerId, id }) => {
    const found = await cases.byId(db, partnerId, id)
    if (found === undefined) throw new ConfigError('operator: No such case.')
    const candidates = await reconciliation.candidates(db, found)
    return {
      ...caseView(found),
      candidates: candidates.map(({ candidate: { amount, ...candidate }, ...scored }) => ({
        ...scored,
        ...candidate,
        amount: amount === null ? null : amountText(amount, candidate.currency),
      })),
    }
  },

  'case propose': (context, options, call) => {
    const { action, staff, note, customer, disposition, payout: payoutId, 'to-partner': toPartnerId } = options
    const proposing = {
      ...{ ...caseKey(options), action, staff, ...signedInPerson(call), note },
      ...(toPartnerId === undefined ? {} : { toPartnerId }),
      ...(payoutId === undefined ? {} : { payoutId }),
      ...(customer === undefined ? {} : { customerId: customer }),
      ...(disposition === undefined ? {} : { disposition }),
    }
    return decideCase(context, options, call, (tx) => context.service.decisions.propose(tx, proposing))
  },

  'case approve': (context, options, call) => {
    const { staff, proposal: proposalId } = options
    const approving = {
      ...{ ...caseKey(options), staff, ...signedInPerson(call) },
      ...(proposalId === undefined ? {} : { proposalId }),
    }
    return decideCase(context, options, call, (tx) => context.service.decisions.approve(tx, approving))
  },

  'case reject': (context, options, call) => {
    const { staff, note } = options
    const rejecting = { ...caseKey(options), staff, ...signedInPerson(call), note }
    return decideCase(context, options, call, (tx) => context.service.decisions.reject(tx, rejecting))
  },

  'case history': async ({ service: { decisions }, db }, { partner, id }) => {
    const rows = await decisions.history(db, partner, id)
    return rows.map(({ before, after, ...row }) => ({
      ...row,
      before: ownJson<unknown>(before),
      after: ownJson<unknown>(after),
    }))
  },
}

/** Maximum rows of a search. A search with more matches is too broad. */
const paymentsMax = 50

const runbook = 'docs/runbooks/stuck-payout.md'

type PayoutRecord = Awaited<ReturnType<Context['service']['payouts']['find']>>[number]
type ShownStatus = PayoutRecord['payout']['status'] | 'Screening'
type HoldKind = Hold['kind']

function readSearch({
  id,
  reference,
  amount,
  currency,
  day,
}: Omit<ParsedOptions<'payment find'>, 'partner'>): PayoutSearch {
  if ([id, reference, amount].filter((key) => key !== undefined).length !== 1)
    throw new ConfigError('operator: give one of --id, --reference and --amount')
  if (currency !== undefined && amount === undefined) throw new ConfigError('operator: --currency goes with --amount')
  if (id !== undefined) {
    if (day !== undefined) throw new ConfigError('operator: --day goes with --reference or --amount')
    return { id }
  }
  const from = day === undefined ? null : new Date(`${day}T00:00:00Z`)
  const period = { from, before: from && after(from, dayMs) }
  if (amount === undefined || currency === undefined) return { reference: reference ?? null, money: null, ...period }
  return { reference: null, money: { currency, amount }, ...period }
}

async function payoutView(
  { service: { cases, holdOf, monitoring, screening }, db }: Context,
  { payout, transaction }: PayoutRecord,
): Promise<object> {
  const { partnerId, id, currency, soldAmount, soldCurrency, transactionId } = payout
  const instructionId = instructionIdOf(payout)
  const about = [id, instructionId, payout.endToEndId, payout.reference]
  const [open, alerts, hits] = [
    await cases.openAbout(db, partnerId, about),
    await monitoring.holdingAlerts(db, partnerId, [transactionId]),
    await screening.hitsOn(partnerId, screenedParties(payout)),
  ]
  const { timeline, row } = transaction
  const step = timeline.at(-1)?.step
  const status: ShownStatus =
    payout.status === 'Pending' && (hits.length > 0 || step === 'Screening') ? 'Screening' : payout.status
  const hold = await holdOf(transaction)
  const kind = hold === undefined ? undefined : exactHoldKind(hold, hits, alerts.length > 0)
  return {
    partnerId,
    payoutId: id,
    instructionId,
    endToEndId: payout.endToEndId,
    reference: payout.reference,
    userReference: row.userReference,
    status,
    since: timeline.at(-1)?.createdAt,
    amount: amountText(payout.amount, currency),
    currency,
    sold:
      soldAmount === null || soldCurrency === null ? null : `${amountText(soldAmount, soldCurrency)} ${soldCurrency}`,
    connector: payout.connector,
    attempts: payout.sendAttempts,
    beneficiary: maskName(payout.creditorName),
    errorKey: payout.errorKey,
    errorDetails: payout.errorDetails,
    timeline,
    cases: open.map(({ id: caseId, kind, openedAt, proposedBy }) => ({ id: caseId, kind, openedAt, proposedBy })),
    hits: hits.map(({ id: hitId, status: decided, subjectKind, openedAt }) => ({
      id: hitId,
      status: decided,
      subjectKind,
      openedAt,
    })),
    alerts: alerts.map(({ alertId }) => alertId),
    hold: kind,
    partnerReads: hold && explainHold(hold).reason,
    next: kind === undefined ? endedAdvice[payout.status] : holds[kind].staff,
    runbook: `${runbook}#${status.toLowerCase()}`,
  }
}

/** Determines what exactly holds a payout, which partners do not see: a name, a text or a rule. */
function exactHoldKind(
  { kind }: Hold,
  hits: readonly { readonly subjectKind: string }[],
  isMonitored: boolean,
): HoldKind {
  if (kind !== 'decision' && kind !== 'sending') return kind
  if (hits.length === 0) return isMonitored ? 'monitoring' : kind
  return hits.every(({ subjectKind }) => subjectKind === 'payout') ? 'texts' : 'names'
}

/** Masks a name except the first letter of each word, so that a caller can recognise it. */
const maskName = (name: string): string => name.replaceAll(/(?<=\p{L})[\p{L}\p{M}]+/gu, '***')

/** Advice about a payout in a final status. */
const endedAdvice: Readonly<Partial<Record<ShownStatus, string>>> = {
  Completed: 'The bank has paid it. To have it back: bank recall.',
  Failed: 'It has ended, and its money is available again. The partner pays again with a new payout.',
  Returned: 'The bank has returned it, and its money is available again.',
  Cancelled: 'It has ended before it was sent, and its money is available again.',
}

const pageMax = 1000

const signedInPerson = ({ staffId }: CommandCall) => (staffId === undefined ? {} : { staffId })

type CaseOptions = { readonly partner: string; readonly id: string }
const caseKey = ({ partner, id }: CaseOptions) => ({ partnerId: partner, id })

async function decideCase(
  context: Context,
  { partner, id }: CaseOptions,
  call: CommandCall,
  work: (tx: Tx) => Promise<Case>,
) {
  const { cases, decisions, screening } = context.service
  // The sender of money is compared with the lists that this process has read.
  await screening.lists.snapshot()
  const found = await cases.byId(context.db, partner, id)
  const kinds = found === undefined ? [] : [found.kind, await decisions.decidedKind(context.db, found)]
  // A partner reads its audit log, and must not learn that its customer is under suspicion (AMLD, Article 39).
  const isHidden = kinds.some((kind) => kindsHiddenFromPartners.has(kind))
  const recorded = isHidden ? { ...call, partnerId: operatorPartnerId } : call
  return refusalAsConfigError(async () => caseView(await runAndRecord(context, recorded, work)))
}

type Case = Awaited<ReturnType<Context['service']['cases']['list']>>[number]

/** Formats a case for the operator, with money as a decimal number and the report as the bank sent it. */
function caseView({ booked, currency, report, proposal, ...row }: Case): object {
  const money =
    booked === null
      ? null
      : { currency, amount: amountText(booked, present(currency, `no currency for the amount of case ${row.id}`)) }
  const proposed = proposal === null ? null : ownJson<unknown>(proposal)
  return { ...row, proposal: proposed, suspense: money, report: ownJson<unknown>(report) }
}
