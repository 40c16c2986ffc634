/**
 * Checks incoming payments for the data of their payers (Regulation (EU) 2023/1113, articles 7 and 8) by the operator's
 * rules. A deposit whose data were requested waits like one whose names are under review. A rejected deposit fails, and
 * its money is returned.
 */
import { ownJson } from '@partner-payments/wire'
import { notFound, Refusal } from '../kernel/api/index.ts'
import { after, dayMs, isFiat, partnerKey, type RowKey, type Money } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { bankKey, missingDebtorFields, type IncomingDebtor, internalConnectorId, payerRegion } from '../rails/index.ts'
import type { SubjectName } from '../screening/index.ts'
import type { DepositsDeps } from './deps.ts'
import { parsePartReport } from './parts.ts'
import { lockDeposits } from './store.ts'
import * as store from './store-parts.ts'

/** Money that arrives for a deposit. */
export type IncomingPayment = RowKey & {
  readonly connector: string
  readonly debtor: IncomingDebtor
  readonly money: Money
}

/** Finds the rule with the largest amount that the payment exceeds. Undefined: no rule applies, and the payment is accepted. */
const findRule = (rules: readonly store.PayerRule[], check: Pick<store.PayerCheck, 'region' | 'currency' | 'amount'>) =>
  rules
    .filter(
      ({ region, currency, above }) => region === check.region && currency === check.currency && check.amount > above,
    )
    .reduce<store.PayerRule | undefined>(
      (last, rule) => (last === undefined || rule.above > last.above ? rule : last),
      undefined,
    )

/**
 * Checks payments that lack data, by `partnerKey` of the deposit. Reads rules only if one does. Transfers between our
 * own customers, and tokens, have no bank to ask.
 */
export async function checkPayers(
  tx: Tx,
  arrivals: readonly IncomingPayment[],
  now: Date,
): Promise<ReadonlyMap<string, store.PayerCheck>> {
  const lacking = arrivals.flatMap((arrival) => {
    const { connector, debtor, money } = arrival
    if (!isFiat(money.currency) || connector === internalConnectorId) return []
    const lacks = missingDebtorFields(debtor, money)
    return lacks.length === 0 ? [] : [{ ...arrival, lacks: lacks.join(' ') }]
  })
  if (lacking.length === 0) return new Map()
  const rules = await store.payerRules(tx)
  return new Map(
    lacking.map(({ partnerId, id, debtor: { account, bic }, money, lacks }) => {
      const region = payerRegion(account, bic === '' ? null : bic)
      const found = { partnerId, id, bank: bankKey(account, bic), region, ...money, lacks }
      const { measure = 'accept', answerDays = 0 } = findRule(rules, found) ?? {}
      const answerBy = measure === 'ask' ? after(now, answerDays * dayMs) : null
      return [partnerKey(partnerId, id), { ...found, measure, answerBy, decision: null, foundAt: now }] as const
    }),
  )
}

/** Missing data of a wallet whose owner is neither proved nor declared. */
const ownershipMissing = 'ownership'
/** Long enough for an owner who is away from the wallet. */
const proofDays = 14
export const lacksOwnershipProof = (check: store.PayerCheck | undefined): boolean => check?.lacks === ownershipMissing

/**
 * Checks whether tokens need a proof of who controls the wallet (articles 14(5) and 16(2)): new payments in `arrivals`,
 * and those in `kept`, which may have a proof by now. Runs no SQL for small payments.
 */
export async function checkWallets(
  { clock, proofsMissing }: Pick<DepositsDeps, 'clock' | 'proofsMissing'>,
  tx: Tx,
  arrivals: readonly (IncomingPayment & { readonly customerId: string | null })[],
  kept: readonly { readonly check: store.PayerCheck; readonly customerId: string | null; readonly account: string }[],
): Promise<ReadonlyMap<string, store.PayerCheck>> {
  const now = clock.now()
  const fresh = arrivals.flatMap(({ partnerId, id, customerId, connector, debtor, money }) => {
    if (isFiat(money.currency) || connector === internalConnectorId) return []
    const answerBy = after(now, proofDays * dayMs)
    const found = {
      partnerId,
      id,
      bank: '',
      region: 'outside',
      ...money,
      lacks: ownershipMissing,
      measure: 'ask',
    } as const
    const check: store.PayerCheck = { ...found, answerBy, decision: null, foundAt: now }
    return [{ check, customerId, account: debtor.account }]
  })
  const waiting = kept.filter(({ check }) => lacksOwnershipProof(check) && awaitsAnswer(check, now))
  const asked = [...fresh, ...waiting]
  if (asked.length === 0) return new Map()
  const missing = await proofsMissing(
    tx,
    asked.map(({ check: { partnerId, amount, currency }, customerId, account }) => ({
      ...{ partnerId, customerId, address: account.toLowerCase(), amount, currency },
    })),
  )
  return new Map(
    asked.flatMap(({ check }, index): readonly (readonly [string, store.PayerCheck])[] => {
      const key = partnerKey(check.partnerId, check.id)
      if (missing[index] === true) return [[key, check]]
      return index < fresh.length ? [] : [[key, { ...check, decision: 'received' }]]
    }),
  )
}

/** Reports whether the money waits for an answer or is returned. */
export const isWithheld = (check: store.PayerCheck | undefined): boolean =>
  check !== undefined && check.measure !== 'accept' && check.decision !== 'received'

/**
 * Chooses the check that decides about a deposit whose new part lacks data. An accepted part does not release a waiting
 * one, and a waiting part does not delay the return of a rejected one.
 */
export function strictestCheck(
  known: store.PayerCheck | undefined,
  fresh: store.PayerCheck | undefined,
): store.PayerCheck | undefined {
  if (known === undefined || fresh === undefined) return fresh ?? known
  const goesBack = isWithheld(known) && (known.measure === 'reject' || known.decision === 'refused')
  return isWithheld(known) && (goesBack ? fresh.measure !== 'reject' : !isWithheld(fresh)) ? known : fresh
}

/** Reports whether an answer may still arrive. */
export const awaitsAnswer = (check: store.PayerCheck | undefined, now: Date): boolean =>
  check?.measure === 'ask' && check.decision === null && check.answerBy !== null && check.answerBy > now

/** Payer data that an answer adds. */
export type PayerAnswer = Partial<Pick<IncomingDebtor, 'name' | 'account' | 'address' | 'identification'>>

export type PayerChecks = {
  readonly rules: typeof store.payerRules
  readonly setRule: (tx: Tx, rule: store.PayerRule) => Promise<readonly store.PayerRule[]>
  /** Removes a rule. Refuses: not_found. */
  readonly removeRule: (
    tx: Tx,
    rule: Parameters<typeof store.removePayerRule>[1],
  ) => Promise<readonly store.PayerRule[]>
  readonly waiting: typeof store.waitingPayerChecks
  readonly checksOf: typeof store.readPayerChecks
  readonly failingBanks: typeof store.failingBanks
  /**
   * Records the answer of the payer's bank. The worker credits the money after screening the new names. `null`: the
   * bank did not answer, and the money is returned. Refuses: not_found, validation_failed (no money waits, or data are
   * still missing).
   */
  readonly decide: (tx: Tx, key: RowKey, answer: PayerAnswer | null) => Promise<void>
}

export function createPayerChecks({ clock, screening }: Pick<DepositsDeps, 'clock' | 'screening'>): PayerChecks {
  return {
    rules: store.payerRules,
    setRule: async (tx, rule) => {
      await store.setPayerRule(tx, rule, clock.now())
      return store.payerRules(tx)
    },
    removeRule: async (tx, rule) => {
      if ((await store.removePayerRule(tx, rule)) === 0) throw new Refusal('not_found', 'No such rule.')
      return store.payerRules(tx)
    },
    waiting: store.waitingPayerChecks,
    checksOf: store.readPayerChecks,
    failingBanks: store.failingBanks,
    decide: async (tx, key, answer) => {
      const now = clock.now()
      const [deposit] = await lockDeposits(tx, [key])
      const [check] = await store.readPayerChecks(tx, [key])
      if (deposit === undefined || check === undefined) throw notFound('payment that lacks data of its payer')
      if (deposit.status !== 'Screening' || !awaitsAnswer(check, now))
        throw new Refusal('validation_failed', 'The payment is not waiting for an answer.')
      const before = await readPayerNames(tx, key, deposit.debtor)
      if (answer !== null) await addAnswer(tx, key, deposit.debtor, check, answer, now)
      else await store.writeDebtor(tx, key, null, now)
      await store.decidePayerCheck(tx, key, answer === null ? 'refused' : 'received', now)
      // The new names are screened before the money is credited. The names that they replace stay recorded.
      await screening.request(tx, { ...key, kind: 'payer' }, before)
    },
  }
}

/** Finds parts that wait and lack data, each by its own amount: the check of their deposit is about the newest part. */
const partsLackingData = (parts: readonly store.Part[], { currency }: Pick<store.PayerCheck, 'currency'>) =>
  parts.flatMap(({ id, amount, status, ...part }) => {
    const report = status === 'Screening' ? parsePartReport(part) : undefined
    const lacks = report !== undefined && missingDebtorFields(report.debtor, { currency, amount }).length > 0
    return lacks ? [{ id, amount, report }] : []
  })
/** Reports whether a waiting part still lacks data: the bank may have reversed the part that the check was about. */
export const hasPartLackingData = (...asked: Parameters<typeof partsLackingData>): boolean =>
  partsLackingData(...asked).length > 0

/** Reads the payer names of a deposit and of its waiting parts. */
async function readPayerNames(tx: Tx, key: RowKey, stored: string | null): Promise<readonly SubjectName[]> {
  const parts = (await store.readParts(tx, [key])).filter(({ status }) => status === 'Screening')
  return payerNames([
    ...(stored === null ? [] : [ownJson<IncomingDebtor>(stored)]),
    ...parts.flatMap((part) => parsePartReport(part)?.debtor ?? []),
  ])
}

/** Lists the names of the payers, and of the parties on whose behalf they pay, each once. */
export const payerNames = (payers: readonly Pick<IncomingDebtor, 'name' | 'onBehalfOf'>[]): readonly SubjectName[] =>
  [...new Set(payers.flatMap(({ name, onBehalfOf = '' }) => [name, onBehalfOf]))].flatMap((name) =>
    name.trim() === '' ? [] : [{ role: 'payer', name }],
  )

/** Adds an answer to the payer of a deposit, or to the payers of its waiting parts that lack data. Refuses: validation_failed. */
async function addAnswer(
  tx: Tx,
  key: RowKey,
  stored: string | null,
  check: store.PayerCheck,
  answer: PayerAnswer,
  now: Date,
): Promise<void> {
  const completed = (debtor: IncomingDebtor, money: Pick<store.PayerCheck, 'currency' | 'amount'>): IncomingDebtor => {
    const whole = { ...debtor, ...answer }
    const lacks = lacksOwnershipProof(check) ? [] : missingDebtorFields(whole, money)
    if (lacks.length > 0)
      throw new Refusal(
        'validation_failed',
        `The data of the payer is still missing: ${lacks.join(', ')}. Provide it, or decide with \`refused\`.`,
      )
    return whole
  }
  const parts = (await store.readParts(tx, [key])).filter(({ status }) => status === 'Screening')
  const lacking = lacksOwnershipProof(check) ? [] : partsLackingData(parts, check)
  if (new Set(lacking.map(({ report: { debtor } }) => `${debtor.account} ${debtor.name}`)).size > 1)
    throw new Refusal(
      'validation_failed',
      'Parts of several payers lack data, and one answer is about one payer. Decide with `refused`: the money goes back.',
    )
  for (const { id, amount, report } of lacking) {
    const debtor = completed(report.debtor, { currency: check.currency, amount })
    await store.writePartReport(tx, key.partnerId, id, JSON.stringify({ ...report, debtor }))
  }
  const debtor =
    parts.length > 0 || stored === null ? null : JSON.stringify(completed(ownJson<IncomingDebtor>(stored), check))
  await store.writeDebtor(tx, key, debtor, now)
}
