/** Composes what resolves cases: decisions with their effects on payments, returns, reconciliation. A part of the composition root. */
import type { Access } from './access/index.ts'
import { Refusal } from './api/index.ts'
import {
  type CaseEffects,
  type Cases,
  createDecisions,
  createReturns,
  type Decisions,
  operatorPartnerId,
  type Returns,
} from './cases/index.ts'
import { type Clock, dayMs, isUuid, type Log } from './kernel/index.ts'
import type { Ledger } from './ledger/index.ts'
import type { AccountOwner, Deposits } from './modules/deposits/index.ts'
import { instructionOf, type PayoutLife, payoutsOfAmount, statusesOf } from './modules/payouts/index.ts'
import type { Database, Tx } from './postgres/index.ts'
import { createIsoBooks } from './connectors/iso20022/index.ts'
import type { BankBooks, BooksAccount, PendingReport } from './rails/index.ts'
import {
  type Candidate,
  type CandidateSources,
  createReconciliation,
  type InLedger,
  type Reconciliation,
} from './reconciliation/index.ts'

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly access: Pick<Access, 'partnerName'>
  readonly cases: Cases
  readonly ledger: Ledger
  readonly payoutLife: Pick<PayoutLife, 'matched'>
  readonly deposits: Pick<
    Deposits,
    'creditOwner' | 'creditPartner' | 'isInScreening' | 'creditsCompleted' | 'waitingOfAmount'
  >
  /** Whose accounts these are: IBANs of customers, addresses of wallets. */
  readonly ownersOf: (tx: Tx, accounts: readonly string[]) => Promise<ReadonlyMap<string, AccountOwner>>
  /** The accounts at banks by files that are configured. */
  readonly bankAccounts: readonly BooksAccount[]
}

export type Composed = {
  readonly decisions: Decisions
  readonly returns: Returns
  readonly reconciliation: Reconciliation
}

export function composeDecisions(deps: Deps): Composed {
  const { db, clock, ledger, cases, bankAccounts: accounts } = deps
  const books = createIsoBooks({ operatorId: operatorPartnerId, clock })
  const returns = createReturns({ db, clock, ledger, record: cases.record })
  const effects = { ...createEffects(deps, books), sendBack: returns.start }
  const decisions = createDecisions({ clock, ledger, effects })
  const inLedger = createInLedger(deps, returns)
  const candidates = createCandidateSources(deps)
  const reconciliation = createReconciliation({ ...deps, accounts, books, decisions, inLedger, candidates })
  return { decisions, returns, reconciliation }
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

function createEffects({ access, payoutLife, deposits }: Deps, books: BankBooks): Omit<CaseEffects, 'sendBack'> {
  const requirePartner = async (tx: Tx, partnerId: string): Promise<void> => {
    if ((await access.partnerName(tx, partnerId)) === '') throw new Refusal('not_found', 'No such partner.')
  }
  const credit: CaseEffects['credit'] = async (tx, { case: { connector }, partnerId, money }) => {
    await requirePartner(tx, partnerId)
    await deposits.creditPartner(tx, partnerId, { ...money, debit: `settlement.${connector}` }, 'NotDefined')
  }
  return {
    credit,
    notNow: async (tx, { kind, partnerId, id }) =>
      kind === 'sanctions_hold' && (await deposits.isInScreening(tx, partnerId, id))
        ? 'The money waits for a decision about a name: decide the hit (screening hits).'
        : undefined,
    announced: async (tx, { subject }) => {
      if (!isUuid(subject) || !(await books.merge(tx, subject)))
        throw refuse('The case names no announced entry that is without a statement: see the text of the case.')
    },
    payout: async (tx, { case: found, partnerId, money, report: { details } }, payoutId) => {
      const { connector, id } = found
      const amount = money.amount < 0n ? -money.amount : money.amount
      const report = { connector, notificationId: `case ${id}`, money: { ...money, amount } }
      const returned = { errorKey: 'BankRejection', details: details ?? 'The payment came back.' } as const
      const failure = money.amount < 0n ? undefined : returned
      const applied = await payoutLife.matched(tx, { partnerId, payoutId, report, returned: failure })
      if (applied === 'unknown') throw refuse('The partner has no such payout: name it with --to-partner and --payout.')
      if (applied === 'early') throw refuse('The payout was not sent to the bank yet.')
      if (applied !== true) throw refuse(`The payout does not fit: ${unfit(money.amount < 0n)}`)
      // So that the connector counts the payment as booked, and the bank's later word about it is a repetition.
      const instructionId = await instructionOf(tx, partnerId, payoutId)
      await matchEntry(tx, books, found, { partnerId, id: instructionId }, money.amount < 0n)
    },
    deposit: async (tx, moving, customerId) => {
      const { case: found, partnerId, money, report } = moving
      await requirePartner(tx, partnerId)
      const { account, debtor, remittance = null, endToEndId = null, transactionHash } = report
      if (account === undefined || debtor === undefined) {
        if (customerId !== undefined)
          throw refuse('The report of the bank names no payer: match without a customer, or credit.')
        return credit(tx, moving)
      }
      const isCredited = await deposits.creditOwner(
        tx,
        found.connector,
        { partnerId, customerId: customerId ?? null },
        {
          kind: 'credit.booked',
          partnerId,
          id: `case ${found.id}`,
          subjectId: found.subject,
          account,
          money,
          debtor,
          remittance,
          endToEndId,
          ...(transactionHash === undefined ? {} : { transactionHash }),
        },
      )
      if (!isCredited) throw refuse('The partner has a deposit of this credit already.')
    },
  }
}

const unfit = (hasLeft: boolean) =>
  hasLeft
    ? 'it is not under way at this connector in this currency.'
    : 'it is not sent or settled by this connector in this currency.'

/** The entry of the case is that of the payment, if a bank by files has reported it. */
async function matchEntry(
  tx: Tx,
  books: BankBooks,
  { subject }: { readonly subject: string },
  payout: { readonly partnerId: string; readonly id: string },
  hasLeft: boolean,
): Promise<void> {
  const entry = isUuid(subject) ? await books.entryOf(tx, subject) : undefined
  if (entry !== undefined) await books.match(tx, entry.id, payout, hasLeft)
}

/** Finds in the ledger the reports that a bank's connector still keeps: by the statuses of payouts, deposits, returns, and by cases. */
const createInLedger =
  ({ deposits, cases }: Deps, returns: Returns) =>
  async (tx: Tx, connector: string, reports: readonly PendingReport[]): Promise<InLedger> => {
    if (reports.length === 0) return new Map()
    const found = new Map<string, 'settled' | 'returned' | 'applied'>()
    const ofPayouts = reports.filter(({ kind }) => kind.startsWith('payout.'))
    const keys = ofPayouts.map(({ partnerId, subjectId: instructionId }) => ({ partnerId, instructionId }))
    const statuses = await statusesOf(tx, keys)
    for (const { id, partnerId, subjectId } of ofPayouts) {
      const status = statuses.get(subjectId) ?? (await returnStatus(tx, returns, partnerId, subjectId))
      if (status === 'Completed' || status === 'Booked') found.set(id, 'settled')
      if (status === 'Returned') found.set(id, 'returned')
    }
    const credits = reports.filter(({ kind }) => kind === 'credit.booked')
    const completed = new Set(
      await deposits.creditsCompleted(
        tx,
        connector,
        credits.map(({ subjectId }) => subjectId),
      ),
    )
    for (const { id, subjectId } of credits) if (completed.has(subjectId)) found.set(id, 'applied')
    const withCase = await cases.withCase(
      tx,
      connector,
      reports.map(({ id }) => id),
    )
    for (const { notificationId } of withCase) found.set(notificationId, 'applied')
    return found
  }

const returnStatus = async (tx: Tx, returns: Returns, partnerId: string, id: string) =>
  (await returns.byId(tx, partnerId, id))?.status

const candidateDays = 30

const createCandidateSources = ({ deposits, ownersOf, clock }: Deps): CandidateSources => ({
  incoming: async (tx, { currency, amount }, credited, partnerId) => {
    const owner = credited === '' ? undefined : (await ownersOf(tx, [credited])).get(credited)
    const since = new Date(clock.now().getTime() - candidateDays * dayMs)
    const waiting = await deposits.waitingOfAmount(tx, owner?.partnerId ?? partnerId, { currency, amount }, since)
    return [
      ...(owner === undefined ? [] : [ownerCandidate(owner, currency, credited)]),
      ...waiting.map(({ createdAt: on, reference, endToEndId, creditorReference, ...row }): Candidate => ({
        ...row,
        kind: 'deposit',
        account: '',
        name: '',
        references: [reference, endToEndId, ...(creditorReference === null ? [] : [creditorReference])],
        on,
      })),
    ]
  },
  outgoing: async (tx, { currency, amount, on }, partnerId) => {
    const since = new Date(on.getTime() - candidateDays * dayMs)
    const found = await payoutsOfAmount(tx, partnerId, { currency, amount }, since)
    return found.map(
      ({
        createdAt,
        creditorAccount: account,
        creditorName: name,
        endToEndId,
        partnerEndToEndId,
        reference,
        ...row
      }): Candidate => ({
        ...row,
        kind: 'payout',
        account,
        name,
        references: [endToEndId, ...(partnerEndToEndId === null ? [] : [partnerEndToEndId]), reference],
        on: createdAt,
      }),
    )
  },
})

const ownerCandidate = (
  { partnerId, customerId }: AccountOwner,
  currency: Candidate['currency'],
  account: string,
): Candidate => ({
  kind: 'owner',
  partnerId,
  id: customerId ?? partnerId,
  status: '',
  currency,
  amount: null,
  account,
  name: '',
  references: [account],
  on: null,
})
