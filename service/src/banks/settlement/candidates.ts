/** Payments of ours that an unexplained booking of a bank may belong to. */
import { operatorPartnerId } from '../../cases/index.ts'
import { type Clock, dayMs } from '../../kernel/index.ts'
import type { AccountOwner, Deposits } from '../../deposits/index.ts'
import { payoutsOfAmount } from '../../payouts/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Candidate, CandidateSources } from '../../cases/reconciliation/index.ts'

export type CandidatesDeps = {
  readonly clock: Clock
  readonly deposits: Pick<Deposits, 'namedIn' | 'waitingOfAmount'>
  /** Finds the owners of accounts: IBANs of customers, addresses of wallets. */
  readonly ownersOf: (tx: Tx, accounts: readonly string[]) => Promise<ReadonlyMap<string, AccountOwner>>
}

const candidateDays = 30

export const createCandidateSources = ({ deposits, ownersOf, clock }: CandidatesDeps): CandidateSources => ({
  incoming: async (tx, { currency, amount, texts }, credited, partnerId) => {
    const owner = credited === '' ? undefined : (await ownersOf(tx, [credited])).get(credited)
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
