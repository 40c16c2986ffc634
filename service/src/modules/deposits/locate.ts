/** Finds whose money a credit is: of the deposit that it names by a creditor reference, or of the owner of the account. */
import { namedInTexts } from '../../iso20022/index.ts'
import { partnerKey } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankNotification } from '../../rails/index.ts'
import type { AccountOwner, DepositsDeps } from './deps.ts'
import { awaitingParts } from './lifecycle.ts'
import type { DepositStatus } from './rules.ts'
import * as store from './store.ts'

export type CreditNotification = Extract<BankNotification, { readonly kind: 'credit.booked' }>
export type ReportedCredit = { readonly connector: string; readonly notification: CreditNotification }

/** `several`: the credit names deposits of which none is meant with certainty. `several` is whose ledger has the case. */
export type Located =
  | { readonly deposit: store.DepositKey }
  | { readonly owner: AccountOwner }
  | { readonly several: string }
  | undefined

/** Candidates of one statement: those of some thousand honest credits, or of a few hostile ones. */
const referencesPerStatementMax = 5000

/**
 * Each possible reference in the texts is looked up, because other words may follow, precede or contain the right one. A
 * reference counts if the account is the same partner's, or not ours: a payer must not choose the owner of the money.
 */
export async function locateAll(
  { ownersOf }: Pick<DepositsDeps, 'ownersOf'>,
  tx: Tx,
  credits: readonly ReportedCredit[],
): Promise<readonly Located[]> {
  const named = credits.map(({ notification: { creditorReferences, remittance, endToEndId } }) =>
    creditorReferences === undefined ? namedInTexts(remittance, endToEndId) : creditorReferences,
  )
  const [owners, deposits] = await Promise.all([
    ownersOf(tx, [...new Set(credits.map(({ notification: { account } }) => account))]),
    depositsNamed(tx, [...new Set(named.flat(2))]),
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
  const applied = await depositsOf(
    tx,
    credits.filter((_credit, index) => (found[index] ?? []).length > 0),
  )
  return credits.map((credit, index): Located => {
    const { account, partnerId } = credit.notification
    const owner = owners.get(account)
    const list = found[index] ?? []
    if (list.length === 0) return owner && { owner }
    // A repetition: the deposits that are named may have ended since.
    const deposit = applied.get(creditKey(credit)) ?? meantOf(list)
    return deposit === undefined ? { several: owner?.partnerId ?? onlyPartner(list) ?? partnerId } : { deposit }
  })
}

async function depositsNamed(
  tx: Tx,
  references: readonly string[],
): Promise<ReadonlyMap<string, readonly store.NamedDeposit[]>> {
  const found: store.NamedDeposit[] = []
  for (let from = 0; from < references.length; from += referencesPerStatementMax)
    found.push(
      ...(await store.depositsByCreditorReference(tx, references.slice(from, from + referencesPerStatementMax))),
    )
  return Map.groupBy(found, ({ creditorReference }) => creditorReference)
}

const creditKey = ({ connector, notification: { subjectId } }: ReportedCredit): string =>
  partnerKey(connector, subjectId)

/** The deposits to which these credits have been applied already. */
async function depositsOf(tx: Tx, credits: readonly ReportedCredit[]): Promise<ReadonlyMap<string, store.DepositKey>> {
  if (credits.length === 0) return new Map()
  const ids = credits.map(({ notification: { subjectId } }) => subjectId)
  const rows = await store.depositsOfCredits(tx, ids)
  return new Map(
    rows.map(({ connector, creditId, partnerId, id }) => [partnerKey(connector, creditId), { partnerId, id }]),
  )
}

const awaiting: ReadonlySet<DepositStatus> = new Set(awaitingParts)

/** The only one that waits for money. If none does, the only one: its status decides what becomes of the money. */
function meantOf(named: readonly store.NamedDeposit[]): store.DepositKey | undefined {
  const open = named.filter(({ status }) => awaiting.has(status))
  const [meant, ...others] = open.length > 0 ? open : named
  return others.length === 0 ? meant : undefined
}

function onlyPartner(named: readonly store.NamedDeposit[]): string | undefined {
  const [partnerId, ...others] = new Set(named.map((deposit) => deposit.partnerId))
  return others.length === 0 ? partnerId : undefined
}
