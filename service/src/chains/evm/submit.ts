/** Accepts instructions: stores each with its nonce before a transaction is signed or sent. */
import { Unreachable } from '../../kernel/api/index.ts'
import { type Currency, type Minor, partnerKey, present, type Sealer } from '../../kernel/index.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import type {
  Acknowledgement,
  CallOptions,
  Instruction,
  InstructionKey,
  InstructionOutcome,
} from '../../rails/index.ts'
import type { ChainDeps } from './deps.ts'
import type { Signer } from './keys.ts'
import { gasWithReserve, checkInstruction, explainRevert, type RefusedTransfer } from './rules.ts'
import * as store from './store-chain.ts'
import { ownJson } from '@partner-payments/wire'

/** The decision about an instruction. `later`: the sending account lacks tokens or gas, or the token is paused. */
type InstructionVerdict = { readonly gas: bigint } | RefusedTransfer | 'later'

/** Tokens of the sending account on the chain, and what open transfers still took before that was read. */
type Holdings = ReadonlyMap<Currency, { readonly balance: Minor; readonly open: Minor }>

const keyOf = ({ partnerId, id }: InstructionKey): string => partnerKey(partnerId, id)
const isRefused = (verdict: InstructionVerdict): verdict is RefusedTransfer =>
  verdict !== 'later' && 'errorKey' in verdict

const toAcknowledgement = (row: store.StoredAnswer): Acknowledgement =>
  row.status === 'Refused'
    ? {
        accepted: false,
        errorKey: row.errorKey ?? 'Failed',
        details: row.errorDetails ?? '',
        reasonCode: row.reasonCode,
      }
    : { accepted: true }

export async function storedAnswers(
  tx: Tx,
  connector: string,
  keys: readonly InstructionKey[],
): Promise<ReadonlyMap<string, Acknowledgement>> {
  const rows = await Promise.all(groupByShard(tx, keys).map((group) => store.listAnswers(tx, connector, group)))
  return new Map(rows.flat().map((row) => [keyOf(row), toAcknowledgement(row)]))
}

/** Returns a function that stores and answers instructions, and calls `onAccepted` once new ones are stored. */
export function createSubmit(deps: ChainDeps) {
  const { db, rules } = deps
  const decide = createVerdicts(deps)

  return async (
    instructions: readonly Instruction[],
    call: CallOptions,
    onAccepted: () => Promise<void>,
  ): Promise<readonly InstructionOutcome[]> => {
    const unique = [...new Map(instructions.map((instruction) => [keyOf(instruction), instruction])).values()]
    const known = await storedAnswers(db, rules.id, unique)
    const fresh = unique.filter((instruction) => !known.has(keyOf(instruction)))
    let answers = known
    if (fresh.length > 0) {
      const signer = await requireSigner(deps)
      const decided = await decide(fresh, signer, call)
      call.signal.throwIfAborted()
      const travelRules = await sealTravelRules(deps, fresh)
      await db.transaction((tx) => insertTransfers(tx, deps, { ...decided, signer, fresh, travelRules }))
      answers = await storedAnswers(db, rules.id, unique)
      if (fresh.some((instruction) => answers.get(keyOf(instruction))?.accepted)) await onAccepted()
    }
    return instructions.map((instruction) => answers.get(keyOf(instruction)) ?? 'unknown')
  }
}

async function requireSigner({ signer }: ChainDeps): Promise<Signer> {
  const found = await signer()
  if (found === undefined)
    throw new Unreachable('downstream_unreachable', 'there is no sending account; run operator wallet-key create')
  return found
}

/** Decides about instructions, and reads the lowest unused nonce of the chain. */
function createVerdicts({ db, log, rules, chain, denied }: ChainDeps) {
  const contracts = new Set(Object.values(rules.tokens))
  return async (instructions: readonly Instruction[], { address: sender }: Signer, call: CallOptions) => {
    const verdicts = new Map<string, InstructionVerdict>()
    const payable: Instruction[] = []
    for (const instruction of instructions) {
      const refusal = checkInstruction(instruction, rules.tokens, { contracts, denied, sender })
      if (refusal === undefined) payable.push(instruction)
      else verdicts.set(keyOf(instruction), refusal)
    }
    const holdings = new Map<Currency, { readonly balance: Minor; readonly open: Minor }>()
    if (payable.length === 0) return { verdicts, nonceMin: undefined, holdings }
    const [head, fees, gasBalance] = await Promise.all([
      chain.head(call),
      chain.fees(call),
      chain.gasBalance(sender, call),
    ])
    const nonceMin = await chain.transactionCount(sender, head, call)
    for (const currency of new Set(payable.map((instruction) => instruction.currency))) {
      const open = await store.sumOpenTransfers(db, rules.id, currency)
      holdings.set(currency, { balance: await chain.tokenBalance(currency, sender, call), open })
    }
    const left = new Map([...holdings].map(([currency, { balance, open }]) => [currency, balance - open] as const))
    const previews = await Promise.all(
      payable.map(({ currency, amount, creditorAccount }) =>
        chain.preview({ sender, currency, amount, recipient: creditorAccount.toLowerCase() }, call),
      ),
    )
    let gasLeft = gasBalance
    for (const [index, instruction] of payable.entries()) {
      const { currency, amount } = instruction
      const preview = previews[index] ?? { reason: '' }
      const verdict =
        'gas' in preview ? { gas: gasWithReserve(preview.gas) } : (explainRevert(preview.reason) ?? 'later')
      const cost = 'gas' in preview ? gasWithReserve(preview.gas) * fees.max : 0n
      const isShort = (left.get(currency) ?? 0n) < amount || gasLeft < cost
      if (isShort || verdict === 'later') logShort(log, { connector: rules.id, sender, currency })
      verdicts.set(keyOf(instruction), isShort ? 'later' : verdict)
      if (isShort || verdict === 'later' || isRefused(verdict)) continue
      left.set(currency, (left.get(currency) ?? 0n) - amount)
      gasLeft -= cost
    }
    return { verdicts, nonceMin, holdings }
  }
}

const logShort = (
  log: ChainDeps['log'],
  facts: { readonly connector: string; readonly sender: string; readonly currency: Currency },
): void => log.error(facts, 'payouts wait: the sending account lacks tokens or gas, or the token is paused')

/**
 * Computes what the sending account has left under its lock, because other workers have stored transfers since. A transfer
 * that has ended since may still be in the balance, and counts as before.
 */
async function tokensLeft(tx: Tx, connector: string, holdings: Holdings): Promise<Map<Currency, Minor>> {
  const left = new Map<Currency, Minor>()
  for (const [currency, { balance, open: before }] of holdings) {
    const open = await store.sumOpenTransfers(tx, connector, currency)
    left.set(currency, balance - (open > before ? open : before))
  }
  return left
}

type NewTransfers = {
  readonly signer: Signer
  readonly fresh: readonly Instruction[]
  readonly verdicts: ReadonlyMap<string, InstructionVerdict>
  readonly nonceMin: number | undefined
  readonly holdings: Holdings
  readonly travelRules: ReadonlyMap<string, Buffer>
}

/** Stores instructions under the lock of the sending account, so that nonces have no gaps and each instruction has one. */
async function insertTransfers(
  tx: Tx,
  deps: ChainDeps,
  { signer, fresh, verdicts, nonceMin, holdings, travelRules }: NewTransfers,
): Promise<void> {
  const { clock, log, rules } = deps
  const { id: connector } = rules
  const { address: sender } = signer
  if (nonceMin !== undefined) await store.insertSender(tx, connector, sender, BigInt(nonceMin))
  const first = (await store.lockSender(tx, connector, sender)) ?? 0n
  const existing = await storedAnswers(tx, connector, fresh)
  const left = await tokensLeft(tx, connector, holdings)
  const now = clock.now()
  let next = first
  for (const instruction of fresh) {
    const verdict = verdicts.get(keyOf(instruction)) ?? 'later'
    if (existing.has(keyOf(instruction)) || verdict === 'later') continue
    const common = {
      ...commonFields(instruction),
      connector,
      sender,
      recipient: instruction.creditorAccount.toLowerCase(),
      travelRuleSealed: present(
        travelRules.get(keyOf(instruction)),
        `no travel rule data for instruction ${instruction.id}`,
      ),
    }
    const none = { errorKey: null, errorDetails: null, reasonCode: null }
    if (isRefused(verdict)) {
      const { errorKey, details: errorDetails, reasonCode } = verdict
      store.insertTransfer(
        tx,
        { ...common, nonce: null, gas: null, status: 'Refused', errorKey, errorDetails, reasonCode },
        now,
      )
      continue
    }
    const { currency, amount } = instruction
    const remaining = (left.get(currency) ?? 0n) - amount
    if (remaining < 0n) {
      logShort(log, { connector, sender, currency })
      continue
    }
    left.set(currency, remaining)
    requireKnownNonces(deps, sender, nonceMin ?? 0, first)
    store.insertTransfer(tx, { ...common, nonce: next, gas: verdict.gas, status: 'Pending', ...none }, now)
    store.insertNonce(tx, { connector, sender, nonce: next, id: instruction.id })
    next += 1n
  }
  if (next > first) await store.setNextNonce(tx, connector, sender, next)
}

const commonFields = ({ partnerId, id, endToEndId, creditorName, currency, amount }: Instruction) => ({
  partnerId,
  id,
  endToEndId,
  creditorName,
  currency,
  amount,
})

/**
 * Stops if the chain has transactions of the sending account that this database does not know: the database was restored,
 * or the key is used elsewhere. Continuing could pay twice, so that an operator must check.
 */
function requireKnownNonces({ log, rules }: ChainDeps, sender: string, onChain: number, next: bigint): void {
  if (BigInt(onChain) <= next) return
  log.error(
    { connector: rules.id, sender, onChain, known: String(next) },
    'payouts wait: the sending account has transactions that this database does not know',
  )
  throw new Unreachable('downstream_unreachable', `the sending account ${sender} has unknown transactions`)
}

// The data of the travel rule (payer and payee) is sealed with each transfer, because it contains KYC data.

/** Seals the parties of instructions. Returns them by `partnerKey(partnerId, id)`. */
async function sealTravelRules(
  { db, sealer, partiesOf }: ChainDeps,
  instructions: readonly Instruction[],
): Promise<ReadonlyMap<string, Buffer>> {
  const rows = instructions.map(async (instruction) => {
    const { partnerId, id, creditorName, creditorAccount } = instruction
    const { originator, beneficiary } = await partiesOf(db, instruction)
    const data = {
      originator: { ...originator, partnerId },
      beneficiary: { ...beneficiary, name: creditorName, walletAddress: creditorAccount },
    }
    const sealed = sealer.seal(JSON.stringify(data), store.travelRuleContext(partnerId, id))
    return [partnerKey(partnerId, id), sealed] as const
  })
  return new Map(await Promise.all(rows))
}

/** Reads the parties of a transaction; undefined if it is not ours. */
export async function readTravelRule(tx: Tx, sealer: Sealer, hash: string): Promise<object | undefined> {
  const row = await store.transferByHash(tx, hash.toLowerCase())
  if (row === undefined) return undefined
  const { partnerId, id, travelRuleSealed } = row
  return ownJson<object>(sealer.open(travelRuleSealed, store.travelRuleContext(partnerId, id)))
}
