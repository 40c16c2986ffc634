/** The operations of the simulations module. */
import {
  type BodyOf,
  decimalText,
  type EventName,
  isEventName,
  rawNumber,
  type ResponseOf,
  type SignatureMistake,
  signatureMistakes,
} from '@partner-payments/wire'
import { type Caller, notFound, parseAmount, parseCurrency, Refusal, refuseField } from '../kernel/api/index.ts'
import {
  assert,
  type Clock,
  type Currency,
  dayMs,
  isFiat,
  type Minor,
  newId,
  randomText,
  secondMs,
  toJsonAmount,
} from '../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../postgres/index.ts'
import type { Checkout, Session } from '../checkout/index.ts'
import { type EventOutbox, sampleEvent } from '../events/index.ts'
import { type ManualRateChange, type Rates, formatRate, parseRate } from '../rates/index.ts'
import {
  addressProblem,
  type BankSimulator,
  type ChainSimulator,
  sandboxConnectorId,
  simulatedChainConnectorId,
} from '../rails/index.ts'
import { type Access, diagnoseSignature, isUnixSeconds, normalizeNonce } from '../access/index.ts'
import type { Wallets } from '../chains/wallets/index.ts'
import type { Accounts } from '../accounts/index.ts'
import type { Deposits } from '../deposits/index.ts'
import type { Payouts } from '../payouts/index.ts'

export type SimulatedTransaction = {
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly replayed: boolean
}

export type Simulations = ChainSimulations &
  CreditSimulations &
  EventSimulations & {
    /**
     * Simulates a deposit. Refuses: validation_failed, not_found (customerId), currency_not_supported, idempotency_key_reused,
     * request_in_progress.
     */
    readonly deposit: (caller: Caller, body: BodyOf<'simulateDeposit'>, ip: string) => Promise<SimulatedTransaction>
    /** Simulates a withdrawal. Refuses like `Payouts.create`. */
    readonly withdrawal: (
      caller: Caller,
      body: BodyOf<'simulateWithdrawal'>,
      ip: string,
    ) => Promise<SimulatedTransaction>
    /** Refuses: not_found, validation_failed, checkout_session_not_open, currency_not_supported. */
    readonly checkout: (
      caller: Caller,
      sessionId: string,
      body: BodyOf<'simulateCheckoutSession'>,
      ip: string,
      tx?: Tx,
    ) => Promise<Session>
    /** Sets rates for every partner of the sandbox. Refuses: validation_failed, currency_not_supported, fx_rates_unavailable. */
    readonly fxRates: (body: BodyOf<'simulateFxRates'>) => Promise<ResponseOf<'simulateFxRates'>>
    /** Verifies the described request with the credential of the caller. Refuses: not_found (the credential was revoked). */
    readonly diagnose: (caller: Caller, body: BodyOf<'diagnoseSignature'>) => Promise<ResponseOf<'diagnoseSignature'>>
  }

/** Much longer than the steps of the bank, so that a funded deposit does not expire. */
const fundedDepositExpiryMs = dayMs

export function createSimulations(deps: SimulationsDeps): Simulations {
  const { bank, deposits, payouts } = deps
  return {
    deposit: async (caller, body, ip) => {
      const currency = parseCurrency(body.currency)
      const amount = parseAmount(body.amount, currency)
      requireSandboxCurrency(currency)
      const { partnerId } = caller
      const { row, replayed } = await deposits.open(
        {
          partnerId,
          operation: 'simulateDeposit',
          customerRef: body.customerId,
          amount,
          currency,
          idempotencyKey: body.idempotencyKey ?? null,
          websiteReference: body.websiteReference ?? null,
          customFields: body.customFields ?? null,
          ip,
          expiresAfterMs: body.outcome === 'expired' ? bank.stepMs : fundedDepositExpiryMs,
          variant: body.outcome,
        },
        (tx, depositId) =>
          bank.scheduleDeposit(tx, { partnerId, id: depositId, money: { currency, amount }, outcome: body.outcome }),
      )
      return { reference: row.reference, amount, currency, replayed }
    },
    withdrawal: async (caller, body, ip) => {
      const currency = parseCurrency(body.currency)
      const amount = parseAmount(body.amount, currency)
      const { outcome, customerId: customerRef, idempotencyKey = null } = body
      const request = { customerRef, amount, currency, outcome, idempotencyKey }
      const { payout, replayed } = await payouts.simulate(caller, request, ip)
      return { reference: payout.reference, amount, currency, replayed }
    },
    checkout: ({ partnerId }, id, body, ip, tx) => deps.checkout.simulate(partnerId, id, body, ip, tx),
    ...createCredits(deps),
    event: createSampleEvents(deps),
    fxRates: createFxRates(deps),
    ...createChainSimulations(deps),
    diagnose: createSignatureDebugger(deps),
  }
}

// Sample events, which are delivered like real ones.

type EventSimulations = {
  /** Appends a sample event. */
  readonly event: (caller: Caller, body: BodyOf<'simulateEvent'>, tx?: Tx) => Promise<ResponseOf<'simulateEvent'>>
}

/** 60 random bits, so that sample events do not share a reference, which orders deliveries. */
const referenceRandomChars = 12

function createSampleEvents({ db, clock, access, eventOutbox }: SimulationsDeps): EventSimulations['event'] {
  return async ({ partnerId }, { eventType }, outerTx) => {
    assert(isEventName(eventType), 'checked with the request')
    const type: EventName = eventType
    const reference = `SAMPLE-${randomText(referenceRandomChars)}`
    return inTransaction(db, outerTx, async (tx) => {
      const now = clock.now()
      const partnerName = await access.partnerName(tx, partnerId)
      eventOutbox.append(tx, partnerId, type, now, { ...sampleEvent(type, { partnerId, partnerName, now }), reference })
      return { eventType, reference }
    })
  }
}

// Manual exchange rates of the sandbox.

function createFxRates({ rates }: { readonly rates: Pick<Rates, 'setByHand'> }) {
  return async (body: BodyOf<'simulateFxRates'>): Promise<ResponseOf<'simulateFxRates'>> => {
    const { asOf, stopped, byHand } = await rates.setByHand(readRateChange(body))
    const setByHand = Object.entries(byHand).map(([currency, rate]) => ({
      currency,
      rate: rawNumber(formatRate(rate)),
    }))
    return { asOf: asOf.toISOString(), stale: stopped, setByHand }
  }
}

const pairRequired = (pointer: string) =>
  refuseField({ pointer, code: 'required', message: 'is required: send base and quote together' })

/** Reads a change of rates. Refuses: validation_failed, currency_not_supported. */
function readRateChange({ base, quote, rate, stale }: BodyOf<'simulateFxRates'>): ManualRateChange {
  const stopped = stale === undefined ? {} : { stopped: stale }
  if (base === undefined && quote === undefined && rate === undefined) {
    if (stale === undefined)
      throw refuseField({
        pointer: '',
        code: 'required',
        message: 'the body is empty: send `base`, `quote` and `rate`, or `stale`, or both',
      })
    return stopped
  }
  if (base === undefined) throw pairRequired('/base')
  if (quote === undefined) throw pairRequired('/quote')
  const pair = { base: parseCurrency(base, '/base'), quote: parseCurrency(quote, '/quote') }
  if (pair.base === pair.quote)
    throw refuseField({ pointer: '/quote', code: 'invalid_value', message: 'must differ from base' })
  const read = rate === undefined ? null : parseRate(decimalText(rate))
  if (read === undefined)
    throw refuseField({
      pointer: '/rate',
      code: 'out_of_range',
      message: 'must be from 0.000001 to 1000000, with at most 10 decimal digits and no exponent',
    })
  return { pair: { ...pair, rate: read }, ...stopped }
}

// Unannounced transfers, and their reversal.

type CreditSimulations = {
  /** Sends a transfer to an IBAN of the partner. Refuses: validation_failed, not_found (iban), currency_not_supported. */
  readonly credit: (caller: Caller, body: BodyOf<'simulateCredit'>, tx?: Tx) => Promise<ResponseOf<'simulateCredit'>>
  /** Simulates the reversal of a credit. Refuses: not_found. */
  readonly reverseCredit: (caller: Caller, creditId: string) => Promise<void>
}

/** A fictitious payer with a valid IBAN and BIC. */
const payer = { account: 'DE89370400440532013000', bic: 'COBADEFFXXX', countryCode: 'DE', address: null } as const

function createCredits({ db, bank, accounts, deposits }: SimulationsDeps): CreditSimulations {
  return {
    credit: async ({ partnerId }, body, outerTx) => {
      const currency = parseCurrency(body.currency)
      const amount = parseAmount(body.amount, currency)
      requireSandboxCurrency(currency)
      const { iban: account, remittance = null } = body
      const debtor = { ...payer, name: body.debtorName ?? 'Sandbox Payer' }
      const creditId = newId()
      return inTransaction(db, outerTx, async (tx) => {
        const owner = (await accounts.ownersOf(tx, [account])).get(account)
        // Another partner's account is reported as unknown, even in a sandbox.
        if (owner?.partnerId !== partnerId) throw notFound('account', '/iban')
        const money = { currency, amount }
        bank.sendCredit(tx, partnerId, creditId, { account, money, debtor, remittance, endToEndId: null })
        return { creditId, amount: toJsonAmount(amount, currency), currency }
      })
    },
    reverseCredit: ({ partnerId }, creditId) =>
      db.transaction(async (tx) => {
        const money = await deposits.moneyOfCredit(tx, partnerId, sandboxConnectorId, creditId.toLowerCase())
        if (money === undefined) throw notFound('credit')
        const details = 'The bank cancelled the booking.'
        bank.reverseCredit(tx, partnerId, creditId.toLowerCase(), { money, details })
      }),
  }
}

// The signature debugger: explains the mistakes in a signed request that a partner describes.

type DescribedRequest = BodyOf<'diagnoseSignature'>

function createSignatureDebugger(deps: {
  readonly access: Pick<Access, 'callerCredential'>
  readonly clock: Clock
  readonly windowSeconds: number
  readonly publicUrl: string
}) {
  const { access, clock, windowSeconds, publicUrl } = deps

  const headerMistakes = ({ timestamp, nonce }: DescribedRequest): readonly SignatureMistake[] => {
    const ageMs = clock.now().getTime() - Number(timestamp) * secondMs
    const isLate = Math.abs(ageMs) > windowSeconds * secondMs
    return [
      ...(isUnixSeconds(timestamp) ? (isLate ? (['clock'] as const) : []) : (['timestamp_unit'] as const)),
      ...(normalizeNonce(nonce) === undefined ? (['nonce_format'] as const) : []),
    ]
  }

  return async (caller: Caller, described: DescribedRequest): Promise<ResponseOf<'diagnoseSignature'>> => {
    const { apiSecret, publicKey } = await access.callerCredential(caller)
    const { origin, path, query } = splitTarget(described)
    const { method, timestamp, nonce, signature, canonicalString: given } = described
    const body = Buffer.from(described.body ?? '', 'utf8')
    const signed = { method, path, query, timestamp, nonce, signature, body, canonicalString: given ?? undefined }
    const found = diagnoseSignature(signed, { apiSecret, publicKey }, origin === '' ? [publicUrl] : [publicUrl, origin])
    const mistakes = [...found.mistakes, ...headerMistakes(described)]
    const [likelyMistake] = mistakes
    const { canonicalString } = found
    if (likelyMistake === undefined) return { valid: true, canonicalString, explanation: 'The signature is valid.' }
    const explanation = mistakes.map((mistake) => signatureMistakes[mistake]).join(' ')
    return { valid: false, canonicalString, likelyMistake, explanation }
  }
}

/** Splits the described path, which may be a URL or have a query. */
function splitTarget({ path, query }: DescribedRequest) {
  const origin = /^https?:\/\/[^/?#]+/i.exec(path)?.[0] ?? ''
  const target = path.slice(origin.length)
  const at = target.indexOf('?')
  const described = query?.replace(/^\?/, '')
  if (at === -1) return { origin, path: target, query: described ?? '' }
  return { origin, path: target.slice(0, at), query: described ?? target.slice(at + 1) }
}

// The operations of simulations on the simulated chain: token deposits, blocks and reorganisations.

type ChainSimulations = {
  /** Simulates a deposit of tokens. Refuses: validation_failed (amount, from), not_found (no such wallet, or one on another chain). */
  readonly walletDeposit: (
    partnerId: string,
    walletId: string,
    body: BodyOf<'simulateWalletDeposit'>,
    tx?: Tx,
  ) => Promise<ResponseOf<'simulateWalletDeposit'>>
  /** Simulates a reorganisation of the chain. Refuses: validation_failed (deeper than the chain), not_found (no simulated chain). */
  readonly reorganisation: (partnerId: string, depth: number) => Promise<ResponseOf<'simulateChainReorganisation'>>
  readonly blocks: (count: number) => Promise<ResponseOf<'simulateChainBlocks'>>
}

function createChainSimulations(deps: {
  /** Undefined outside a sandbox. */
  readonly simulatedChain: ChainSimulator | undefined
  readonly wallets: Pick<Wallets, 'get'>
}): ChainSimulations {
  const { wallets } = deps
  const requireChain = (): ChainSimulator => {
    if (deps.simulatedChain === undefined) throw notFound('simulated chain')
    return deps.simulatedChain
  }
  return {
    walletDeposit: async (partnerId, walletId, { amount: given, from, confirmations = 0 }, tx) => {
      const { wallet } = await wallets.get(partnerId, walletId)
      if (wallet.connector !== simulatedChainConnectorId) throw notFound('wallet on the simulated chain')
      const { currency, address: to } = wallet
      const amount = parseAmount(given, currency)
      if (from !== undefined && addressProblem(from) !== undefined)
        throw refuseField({
          pointer: '/from',
          code: 'invalid_format',
          message: 'must be an EVM address: 0x and 40 hexadecimal digits, with capitals as in its checksum',
        })
      const transfer = { partnerId, currency, amount, from, to, confirmations }
      return { transactionHash: await requireChain().sendTokens(transfer, tx) }
    },
    reorganisation: async (partnerId, depth) => {
      const { head, vanished } = await requireChain().reorganise(partnerId, depth)
      return { head, vanished: [...vanished] }
    },
    blocks: async (count) => ({ head: await requireChain().makeBlocks(count) }),
  }
}

// Dependencies of the simulations.

type SimulationsDeps = {
  readonly bank: BankSimulator
  readonly checkout: Pick<Checkout, 'simulate'>
  /** Undefined outside a sandbox. */
  readonly simulatedChain: ChainSimulator | undefined
  readonly wallets: Pick<Wallets, 'get'>
  readonly deposits: Deposits
  readonly payouts: Payouts
  readonly rates: Pick<Rates, 'setByHand'>
  readonly access: Pick<Access, 'callerCredential' | 'partnerName'>
  readonly accounts: Pick<Accounts, 'ownersOf'>
  readonly eventOutbox: EventOutbox
  readonly db: Database
  readonly clock: Clock
  readonly windowSeconds: number
  /** The public URL of the API, which some clients sign. */
  readonly publicUrl: string
}

/** Checks that the sandbox has the currency. Refuses: currency_not_supported. */
function requireSandboxCurrency(currency: Currency): void {
  if (!isFiat(currency)) throw new Refusal('currency_not_supported', `The sandbox bank does not support ${currency}.`)
}
