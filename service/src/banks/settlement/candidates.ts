/** Finds our payments that an unexplained booking of a bank may belong to. */
import { type Cases, operatorPartnerId, type Returns } from '../../cases/index.ts'
import { type Clock, dayMs } from '../../kernel/index.ts'
import type { AccountOwner, Deposits } from '../../deposits/index.ts'
import { payoutsOfAmount, instructionStatuses } from '../../payouts/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Candidate, CandidateSources, LedgerStates } from '../../cases/reconciliation/index.ts'
import type { PendingReport } from '../../rails/index.ts'

export type CandidatesDeps = {
  readonly clock: Clock
  readonly deposits: Pick<Deposits, 'namedIn' | 'waitingOfAmount'>
  /** Finds the owners of accounts: IBANs of customers and wallet addresses. */
  readonly findOwners: (tx: Tx, accounts: readonly string[]) => Promise<ReadonlyMap<string, AccountOwner>>
}

const candidateDays = 30

export const createCandidateSources = ({ deposits, findOwners, clock }: CandidatesDeps): CandidateSources => ({
  incoming: async (tx, { currency, amount, texts }, credited, partnerId) => {
    const owner = credited === '' ? undefined : (await findOwners(tx, [credited])).get(credited)
    const since = new Date(clock.now().getTime() - candidateDays * dayMs)
    const ofPartner = owner?.partnerId ?? (partnerId === operatorPartnerId ? undefined : partnerId)
    const named = await deposits.namedIn(tx, ofPartner, texts)
    const waiting = await deposits.waitingOfAmount(tx, ofPartner ?? partnerId, { currency, amount }, since)
    return [
      ...(owner === undefined ? [] : [ownerCandidate(owner, currency, credited)]),
      ...[...named, ...waiting].map(
        ({ createdAt: on, reference, endToEndId, creditorReference, ...row }): Candidate => ({
          ...row,
          kind: 'deposit',
          account: '',
          name: '',
          references: [reference, endToEndId, ...(creditorReference === null ? [] : [creditorReference])],
          on,
        }),
      ),
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

// Finds the reports of a bank that are already in the ledger, for reconciliation.

type InLedgerDeps = {
  readonly cases: Pick<Cases, 'withCase'>
  readonly deposits: Pick<Deposits, 'creditsCompleted'>
  readonly returns: Pick<Returns, 'byId'>
}

/** Finds the reports already in the ledger, by the statuses of payouts, deposits and returns, and by cases. */
export const createLedgerLookup =
  ({ deposits, cases, returns }: InLedgerDeps) =>
  async (tx: Tx, connector: string, reports: readonly PendingReport[]): Promise<LedgerStates> => {
    if (reports.length === 0) return new Map()
    const found = new Map<string, 'settled' | 'returned' | 'applied'>()
    const ofPayouts = reports.filter(({ kind }) => kind.startsWith('payout.'))
    const keys = ofPayouts.map(({ partnerId, subjectId: instructionId }) => ({ partnerId, instructionId }))
    const statuses = await instructionStatuses(tx, keys)
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

const returnStatus = async (tx: Tx, returns: InLedgerDeps['returns'], partnerId: string, id: string) =>
  (await returns.byId(tx, partnerId, id))?.status
