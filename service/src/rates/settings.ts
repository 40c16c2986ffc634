import {
  type Currency,
  currencies,
  integer,
  isCurrency,
  isFiat,
  type Minor,
  refuseSetting,
  type Settings,
  type SettingValues,
} from '../kernel/index.ts'
import { sandboxSourceId } from './sandbox-walk.ts'

/** A margin and the surcharge of a held quote together stay below 100 %. */
const basisPointsMax = 4_999
const yearSeconds = 31_536_000

/** `url` has the scheme `file:`, `http:` or `https:`. */
export type RateSourceSetting = { readonly kind: 'none' | 'sandbox' } | { readonly kind: 'url'; readonly url: URL }

function readSource(text: string): RateSourceSetting {
  if (text === 'none' || text === sandboxSourceId) return { kind: text }
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && ['file:', 'http:', 'https:'].includes(url.protocol)
    ? { kind: 'url', url }
    : refuseSetting('must be none, sandbox, or a URL that begins with file://, http:// or https://')
}

function readBasisPoints(text: string): number {
  const value = Number(text)
  return /^\d{1,4}$/.test(text) && value <= basisPointsMax
    ? value
    : refuseSetting(`must name basis points from 0 to ${basisPointsMax}: ${text} is not`)
}

/** Basis points of the mid rate, by pair in either direction, and for all other pairs. */
type Margins = { readonly others: number; readonly pairs: ReadonlyMap<string, number> }

function readMargins(text: string): Margins {
  const pairs = new Map<string, number>()
  let others: number | undefined
  for (const part of text.split(',').map((each) => each.trim())) {
    const [left = '', right, ...rest] = part.split('=')
    if (right === undefined) {
      if (others !== undefined) refuseSetting('must name the margin of all other pairs once')
      others = readBasisPoints(left)
      continue
    }
    const pair = left.split('/')
    if (rest.length > 0 || pair.length !== 2 || !pair.every(isCurrency) || pair[0] === pair[1])
      refuseSetting('must be basis points, and pairs such as EUR/USD=25, separated by commas')
    if (pairs.has(left)) refuseSetting(`must name each pair once: ${left}`)
    pairs.set(left, readBasisPoints(right))
  }
  return { others: others ?? refuseSetting('must name the margin of all other pairs'), pairs }
}

/** Fee in the sold currency: a fixed part in minor units, and a share of the sold amount. */
type Fee = { readonly fixed: Minor; readonly basisPoints: number }
type Fees = ReadonlyMap<Currency, Fee>

const feeForm = /^([A-Z]{3,5})=(?:(\d{1,6})(?:\.(\d{1,6}))?)?(?:(?:^|\+|(?<==))(\d{1,4})bp)?$/

function readFees(text: string): Fees {
  const fees = new Map<Currency, Fee>()
  for (const part of text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)) {
    const match = feeForm.exec(part)
    const [, currency = '', whole, fraction = '', points] = match ?? []
    if (match === null || !isCurrency(currency) || (whole === undefined && points === undefined))
      return refuseSetting('must be fees such as EUR=0.50, EUR=10bp or EUR=0.50+10bp, separated by commas')
    const { digits } = currencies[currency]
    if (fraction.length > digits) refuseSetting(`has more decimal digits than ${currency}`)
    if (fees.has(currency)) refuseSetting(`must name each currency once: ${currency}`)
    const fixed = BigInt(`${whole ?? '0'}${fraction.padEnd(digits, '0')}`)
    fees.set(currency, { fixed, basisPoints: readBasisPoints(points ?? '0') })
  }
  return fees
}

export const ratesSettings = {
  FX_RATES: {
    default: 'sandbox; none in production',
    description:
      'Where exchange rates come from: `none`, `sandbox` (rates that move by themselves), or the URL of a file in the format of the ECB: `file:///var/rates.xml`, `https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml`',
    read: (value: string | undefined, mode): RateSourceSetting =>
      readSource(value ?? (mode === 'sandbox' ? sandboxSourceId : 'none')),
  },
  FX_RATES_MAX_AGE_SECONDS: {
    default: '60 for the sandbox; 108000 (30 hours) for the ECB',
    description:
      'Largest age of rates for quotes. Older rates are refused: 503 `fx_rates_unavailable`. For rates in the format of the ECB, days on which it publishes no rates (weekends, TARGET holidays) do not count',
    read: (value: string | undefined) => (value === undefined ? undefined : integer(1, yearSeconds, 1)(value)),
  },
  FX_RATES_JUMP_MAX_PERCENT: {
    default: '20',
    description:
      'The service refuses a sheet in which a currency has moved by more than this since the previous sheet, because the source may be wrong. To accept such a sheet, set a higher value for one start',
    read: integer(1, 1_000_000, 20),
  },
  REFERENCE_CURRENCY: {
    default: 'EUR',
    description: 'The currency of rules over all currencies. Rules that were set before a change keep their currency',
    read: (value: string | undefined): Currency => {
      const currency = value ?? 'EUR'
      return isFiat(currency) ? currency : refuseSetting('must be a fiat currency of the service, such as EUR')
    },
  },
  REFERENCE_RATES_MAX_AGE_DAYS: {
    default: '7',
    description:
      'Largest age, in days, of the rates for rules over all currencies. Without such rates a payout exceeds its limits and needs an approval. Quotes need newer rates',
    read: integer(1, 365, 7),
  },
  FX_MARGIN: {
    default: '50',
    description:
      'Basis points that a firm quote subtracts from the mid rate, and exceptions for pairs in one direction: `50,EUR/USD=25,USD/EUR=30`',
    read: (value: string | undefined) => readMargins(value ?? '50'),
  },
  FX_HELD_MARGIN: {
    default: '50',
    description: 'Basis points that a quote with a validity of 30 minutes subtracts in addition to FX_MARGIN',
    read: integer(0, basisPointsMax, 50),
  },
  FX_FEE: {
    default: '',
    description:
      'Fee of an exchange by sold currency: fixed, in basis points of the sold amount, or both: `EUR=0.50,USD=10bp,GBP=0.40+5bp`. Other currencies have no fee',
    read: (value: string | undefined) => readFees(value ?? ''),
  },
} as const satisfies Settings

type Values = SettingValues<typeof ratesSettings>
/** Charges of the operator for a conversion. */
export type FxTerms = Pick<Values, 'FX_MARGIN' | 'FX_HELD_MARGIN' | 'FX_FEE'>
export type RatesConfig = Omit<Values, keyof FxTerms>
