/** The settings of chain connectors. */
import { readFileSync } from 'node:fs'
import {
  type Currency,
  currencies,
  isCurrency,
  isFiat,
  type Minor,
  type Mode,
  refuseSetting,
  secondMs,
  type Settings,
} from '../../kernel/index.ts'
import { addressProblem, zeroAddress } from '../../rails/index.ts'
import type { ChainRules } from './deps.ts'

export type ChainConfig = Omit<ChainRules, 'id'> & { readonly rpcUrls: readonly string[]; readonly pollMs: number }

const chainKeys = [
  'chainId',
  'network',
  'rpcUrls',
  'tokens',
  'confirmations',
  'pollMs',
  'maxFeeGwei',
  'stuckAfterMs',
  'minimumDeposit',
] as const
const confirmationsMax = 1000
const pollMsMax = 60 * secondMs
const stuckAfterMsDefault = 60 * secondMs
const weiOfGwei = 1_000_000_000n

type ChainFields = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is ChainFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function readInteger(
  given: ChainFields,
  name: string,
  [min, max]: readonly [number, number],
  missing?: number,
): number {
  const value = given[name] ?? missing
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max
    ? value
    : refuseSetting(`must give each chain ${name}, a whole number from ${min} to ${max}`)
}

/** Reads an object whose keys are tokens. */
function readByToken<T>(
  given: unknown,
  name: string,
  read: (value: unknown, currency: Currency) => T,
): Readonly<Partial<Record<Currency, T>>> {
  if (!isObject(given)) return refuseSetting(`must give each chain ${name}, such as {"USDC": ...}`)
  const entries = Object.entries(given).map(([currency, value]) => {
    if (!isCurrency(currency) || isFiat(currency))
      return refuseSetting(`must name tokens in ${name}: ${currency} is not one`)
    return [currency, read(value, currency)] as const
  })
  return Object.fromEntries(entries) as Partial<Record<Currency, T>>
}

function readContract(value: unknown, currency: Currency): string {
  if (typeof value !== 'string' || addressProblem(value) !== undefined || value.toLowerCase() === zeroAddress)
    return refuseSetting(`must give the contract address of ${currency}, with its checksum (EIP-55)`)
  return value.toLowerCase()
}

function readTokenAmount(value: unknown, currency: Currency): Minor {
  const { digits } = currencies[currency]
  const [, whole, part = ''] = (typeof value === 'string' ? /^(\d{1,9})(?:\.(\d+))?$/.exec(value) : null) ?? []
  if (whole === undefined || part.length > digits)
    return refuseSetting(`must give minimumDeposit as text with at most ${digits} decimal digits, such as "0.50"`)
  return BigInt(whole + part.padEnd(digits, '0'))
}

function readChain(given: unknown): ChainConfig {
  if (!isObject(given)) return refuseSetting('must be a list of chains, each an object')
  const unknown = Object.keys(given).find((key) => !(chainKeys as readonly string[]).includes(key))
  if (unknown !== undefined)
    return refuseSetting(`must not have the field ${unknown}: the fields are ${chainKeys.join(', ')}`)
  const { rpcUrls, network, tokens, minimumDeposit = {} } = given
  if (typeof network !== 'string' || !/^[a-z][a-z0-9-]{0,39}$/.test(network))
    return refuseSetting('must give each chain a network, such as base: lower-case letters, digits and hyphens')
  const isUrl = (text: unknown) => typeof text === 'string' && URL.canParse(text) && /^https?:/.test(text)
  if (
    !Array.isArray(rpcUrls) ||
    rpcUrls.length === 0 ||
    !rpcUrls.every(isUrl) ||
    new Set(rpcUrls).size < rpcUrls.length
  )
    return refuseSetting('must give each chain rpcUrls, a list of different URLs of its nodes')
  const contracts = readByToken(tokens, 'tokens', readContract)
  const different = new Set(Object.values(contracts)).size
  if (different === 0 || different < Object.keys(contracts).length)
    return refuseSetting('must give each chain tokens, each with a different contract')
  return {
    chainId: readInteger(given, 'chainId', [1, Number.MAX_SAFE_INTEGER]),
    network,
    rpcUrls: rpcUrls as readonly string[],
    tokens: contracts,
    confirmations: readInteger(given, 'confirmations', [1, confirmationsMax]),
    pollMs: readInteger(given, 'pollMs', [100, pollMsMax], 2 * secondMs),
    feeMax: BigInt(readInteger(given, 'maxFeeGwei', [1, 1_000_000])) * weiOfGwei,
    stuckAfterMs: readInteger(given, 'stuckAfterMs', [1000, 3_600_000], stuckAfterMsDefault),
    depositMin: readByToken(minimumDeposit, 'minimumDeposit', readTokenAmount),
  }
}

function readChains(value: string | undefined): readonly ChainConfig[] {
  const trimmed = value?.trim() ?? ''
  if (trimmed === '') return []
  const chains = parse(trimmed.startsWith('[') ? trimmed : readFile(trimmed))
  if (!Array.isArray(chains)) return refuseSetting('must be a list of chains')
  const read = chains.map(readChain)
  if (new Set(read.map(({ chainId }) => chainId)).size < read.length)
    return refuseSetting('must name each chain id once')
  return read
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return refuseSetting('must be JSON, or the path of a JSON file')
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return refuseSetting(`must name a readable file: ${(error as Error).message}`)
  }
}

/** Reads a file with one address per line. Text after the address, and lines that begin with #, are comments. */
function readDenied(path: string | undefined): ReadonlySet<string> {
  if (path === undefined) return new Set()
  const lines = readFile(path)
    .split('\n')
    .map((line) => line.trim())
  const addresses = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s/, 1)[0] ?? '')
  const wrong = addresses.find((address) => addressProblem(address) !== undefined)
  if (wrong !== undefined)
    return refuseSetting(`must name a file with one address per line: ${wrong} is not an address`)
  return new Set(addresses.map((address) => address.toLowerCase()))
}

/** Regulation (EU) 2023/1113, articles 14(5) and 16(2). */
const eurosOfRegulation = '1000'
const euros = /^(\d{1,9})(?:\.(\d{1,2}))?$/

function readProofAbove(value: string | undefined, mode: Mode): string {
  const text = value ?? (mode === 'sandbox' ? 'none' : eurosOfRegulation)
  return text === 'none' || euros.test(text)
    ? text
    : refuseSetting('must be none, or an amount of euros, such as 1000 or 999.99')
}

/** Parses WALLET_PROOF_ABOVE as minor units of the euro. Undefined: payments do not need a proof. */
export function parseProofAbove(text: string): Minor | undefined {
  const [, whole, cents = ''] = euros.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(whole + cents.padEnd(2, '0'))
}

export const evmSettings = {
  EVM_CHAINS: {
    default: '',
    description:
      'The EVM chains of token payments: JSON, or the path of a JSON file. A list of objects with `chainId`, `network`, `rpcUrls`, `tokens` (contracts by token), `confirmations`, `maxFeeGwei` and, optionally, `pollMs`, `stuckAfterMs` and `minimumDeposit`. The connector of a chain is `evm-<chainId>` (docs/guides/wallets.md)',
    // The URLs of nodes contain keys.
    secret: true,
    read: readChains,
  },
  WALLET_DENY_LIST: {
    default: 'none',
    description: 'File with addresses, one per line, to which tokens are not sent. Read at the start',
    read: readDenied,
  },
  WALLET_PROOF_ABOVE: {
    default: 'none in a sandbox; 1000 in production',
    description:
      'Amount in euros above which a token payment to or from a wallet needs a proof of who controls the wallet, or the name of its provider (Regulation (EU) 2023/1113, Art. 14(5) and 16(2)). Tokens are converted at the rate of the day; without a rate every payment needs the proof',
    read: readProofAbove,
  },
} as const satisfies Settings
