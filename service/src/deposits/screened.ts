/** Screens the names of the customer and of the payer before money is credited. */
import { ownJson } from '@partner-payments/wire'
import { after, minuteMs, partnerKey, secondMs, type RowKey, type Money } from '../kernel/index.ts'
import type { AppliedOutcome } from '../lifecycle/index.ts'
import { groupByShard, type Tx } from '../postgres/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import {
  countriesOfAccount,
  type Hold,
  type ScreenedCredit,
  type Subject,
  type SubjectKey,
  strictestHold,
} from '../screening/index.ts'
import type { DepositsDeps } from './deps.ts'
import { type DepositWithParts, parsePartReport, withParts } from './parts.ts'
import { awaitsAnswer, checkPayers, checkWallets, payerNames, hasPartLackingData, strictestCheck } from './payers.ts'
import * as store from './store.ts'
import { readParts, type PayerCheck, readPayerChecks } from './store-parts.ts'
import type { DecisionTrigger } from './lifecycle.ts'

/**
 * Deposit with the result of screening. `hold` is read in the statuses `Accepted` and `Screening`, in which the money
 * has arrived. Undefined: the money may be credited.
 */
export type ScreenedDeposit = DepositWithParts & {
  readonly hold: Hold | undefined
  /** Check of the payer's data, if some are missing. */
  readonly payer: PayerCheck | undefined
}

/**
 * Payer, text and money that the credit of a batch brings to its deposit. A part has its own payer. `isDecided`: an
 * operator has found the owner.
 */
export type ArrivingMoney = {
  readonly text: string | null
  readonly debtor: IncomingDebtor
  readonly money: Money
  readonly isDecided: boolean
}

export type DepositScreening = {
  /** Credits or freezes deposits whose names were decided. Returns the number of deposits examined. */
  readonly screenDue: (depositsMax: number) => Promise<number>
  /** Returns when the oldest waiting deposit began to wait for a decision about a name. Null: no deposit waits. */
  readonly oldestInScreening: () => Promise<Date | null>
  /** Reads name and account of a deposit's payer, and the texts of the payment that may name a vessel, for screening. */
  readonly payerOf: (tx: Tx, partnerId: string, id: string) => Promise<Subject>
  /** Reports whether a deposit waits for a decision about a name. */
  readonly isInScreening: (tx: Tx, partnerId: string, id: string) => Promise<boolean>
  /** Reports whether a name, an account or a country of the sender of money is on a list, or may be. */
  readonly isListedSender: (
    partnerId: string,
    debtor: IncomingDebtor,
    texts: readonly (string | null)[],
  ) => Promise<boolean>
}

/** A person takes longer than this to decide. */
const recheckMs = 5 * secondMs
/** Longer, because a bank takes days to answer. */
const answerMs = minuteMs

export const payerKey = ({ partnerId, id }: RowKey): SubjectKey => ({ partnerId, kind: 'payer', id })

/** Fields that the bank did not report are empty. */
type ScreenedPayer = Pick<IncomingDebtor, 'name' | 'account' | 'bic' | 'countryCode' | 'onBehalfOf'>
const parsePayer = (debtor: string | null): ScreenedPayer =>
  debtor === null ? { name: '', account: '', bic: '', countryCode: '' } : ownJson<IncomingDebtor>(debtor)

const countriesOf = ({ account, bic, countryCode: country }: ScreenedPayer) =>
  countriesOfAccount({ account, bic, country })

/** Locks deposits, and reads the holds of those whose money has arrived with one statement for the batch. */
export const createScreenedLock =
  (deps: Pick<DepositsDeps, 'clock' | 'proofsMissing' | 'screening'>) =>
  async (
    tx: Tx,
    keys: readonly RowKey[],
    arrivingOf: (key: RowKey) => ArrivingMoney | undefined,
    connectorOf: (key: RowKey) => string | undefined,
  ): Promise<readonly ScreenedDeposit[]> => {
    const { clock, screening } = deps
    const locked = await withParts(tx, await store.lockDeposits(tx, keys))
    // The stored texts, and those of the credit that arrives now.
    const rows = locked.map((row) => ({
      ...row,
      craftText: screening.textOf([...(row.craftText?.split('\n') ?? []), arrivingOf(row)?.text ?? null]),
    }))
    const debtorOf = (row: DepositWithParts) => (row.inParts ? arrivingOf(row)?.debtor : undefined)
    const asked = rows.filter(
      (row) => row.status === 'Accepted' || row.status === 'Screening' || debtorOf(row) !== undefined,
    )
    const credits = asked.flatMap((row) => screenedCredits(row, debtorOf(row) ?? parsePayer(row.debtor)))
    const holds = credits.length === 0 ? [] : await screening.holdsOfCredits(tx, credits)
    const holdsBy = Map.groupBy(credits.keys(), (index) => credits[index]?.row)
    const holdOf = (row: DepositWithParts) => strictestHold((holdsBy.get(row) ?? []).map((index) => holds[index]))
    const arrivals = asked.flatMap((row) => {
      const [arriving, connector] = [arrivingOf(row), connectorOf(row)]
      const debtor = arriving?.debtor ?? (row.debtor === null ? undefined : ownJson<IncomingDebtor>(row.debtor))
      const isKept = row.status === 'Screening' && (arriving === undefined || !row.inParts)
      if (isKept || connector === undefined || debtor === undefined || arriving?.isDecided === true) return []
      return [{ ...row, connector, debtor, money: arriving?.money ?? row }]
    })
    const checks = await checkPayers(tx, arrivals, clock.now())
    const kept = rows.filter(({ status }) => status === 'Screening')
    const known = kept.length === 0 ? [] : await readPayerChecks(tx, kept)
    const knownBy = new Map(known.map((check) => [partnerKey(check.partnerId, check.id), check]))
    const keptWallets = kept.flatMap(({ partnerId, id, customerId, debtor }) => {
      const check = knownBy.get(partnerKey(partnerId, id))
      return check === undefined ? [] : [{ check, customerId, account: parsePayer(debtor).account }]
    })
    const wallets = await checkWallets(deps, tx, arrivals, keptWallets)
    const judged = rows.map((row) => {
      const key = partnerKey(row.partnerId, row.id)
      const known = wallets.get(key) ?? knownBy.get(key)
      const isOver = known !== undefined && row.inParts && !hasPartLackingData(row.parts, row)
      const payer = strictestCheck(isOver ? { ...known, decision: 'received' } : known, checks.get(key))
      return { ...row, hold: holdOf(row), payer }
    })
    // Money that waits for data of its payer does not wait for the next list.
    const isUnlisted = ({ hold, payer }: ScreenedDeposit) => hold === 'unscreened' && payer !== undefined
    if (!judged.some(isUnlisted) || (await screening.lists.generation(tx)) > 0) return judged
    return judged.map((row) => (isUnlisted(row) ? { ...row, hold: undefined } : row))
  }

/** Lists the credit for screening: once for the payer, and once for the party on whose behalf it pays. */
function screenedCredits(
  row: DepositWithParts,
  payer: ScreenedPayer,
): readonly (ScreenedCredit & { readonly row: DepositWithParts })[] {
  const { onBehalfOf } = payer
  const names = onBehalfOf === undefined || row.status === 'Screening' ? [payer.name] : [payer.name, onBehalfOf]
  return names.map((name) => ({ ...toScreenedCredit(row, { ...payer, name }), row }))
}

function toScreenedCredit(row: store.Deposit, found: ScreenedPayer): ScreenedCredit {
  const { partnerId, customerId, status } = row
  const { name: payerName, account: payerAccount } = found
  return {
    partnerId,
    customer: customerId === null ? undefined : { partnerId, kind: 'customer', id: customerId },
    payerName,
    payerAccount,
    payerCountries: countriesOf(found).map(({ country }) => country),
    craftText: row.craftText,
    payer: status === 'Screening' ? payerKey(row) : undefined,
  }
}

export const createDepositScreening = (
  { db, clock, screening }: Pick<DepositsDeps, 'db' | 'clock' | 'screening'>,
  apply: (trigger: DecisionTrigger) => Promise<AppliedOutcome>,
): DepositScreening => ({
  screenDue: async (depositsMax) => {
    const due = await store.depositsInScreening(db, clock.now(), depositsMax)
    const outcomes = await Promise.allSettled(
      due.map(({ partnerId, id }) => apply({ kind: 'cleared', partnerId, subjectId: id })),
    )
    const waiting = due.filter((_key, index) => {
      const outcome = outcomes[index]
      return outcome?.status === 'rejected' || outcome?.value !== true
    })
    const now = clock.now()
    const checks = await Promise.all(groupByShard(db, waiting).map((group) => readPayerChecks(db, group)))
    const asked = new Set(
      checks
        .flat()
        .filter((check) => awaitsAnswer(check, now))
        .map(({ partnerId, id }) => partnerKey(partnerId, id)),
    )
    // After the answer of a bank, the next check is due at once.
    const pauseOf = (key: RowKey) => (asked.has(partnerKey(key.partnerId, key.id)) ? answerMs : recheckMs)
    for (const [partnerId, ofPartner] of Map.groupBy(waiting, (key) => key.partnerId))
      for (const [pauseMs, keys] of Map.groupBy(ofPartner, pauseOf))
        await store.postponeScreening(
          db,
          partnerId,
          keys.map(({ id }) => id),
          after(now, pauseMs),
        )
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === 'rejected' ? [outcome.reason] : []))
    if (failures.length > 0)
      throw new Error(`could not apply decisions to deposits: ${failures.length}`, { cause: failures[0] })
    return due.length
  },
  oldestInScreening: () => store.oldestInScreening(db),
  payerOf: async (tx, partnerId, id) => {
    const found = await store.readPayer(tx, { partnerId, id })
    const payer = parsePayer(found?.debtor ?? null)
    const parts = (await readParts(tx, [{ partnerId, id }])).filter(({ status }) => status === 'Screening')
    // The payer of each part that waits for the decision; without parts, the payer of the deposit.
    const all = [payer, ...parts.flatMap((part) => parsePartReport(part)?.debtor ?? [])]
    const { account } = payer
    const names = payerNames(all)
    const texts = found?.craftText?.split('\n').map((text) => ({ role: 'text', name: text })) ?? []
    return { names, account: account || null, countries: all.flatMap(countriesOf), texts }
  },
  isListedSender: async (partnerId, debtor, texts) => {
    await screening.lists.recent()
    const hold = await screening.holdOfMoney(db, { partnerId, customerId: null, debtor, texts })
    return hold === 'open' || hold === 'confirmed'
  },
  isInScreening: async (tx, partnerId, id) => (await store.readPayer(tx, { partnerId, id }))?.isInScreening === true,
})
