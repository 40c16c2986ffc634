/** Exact exchange rates. A rate is parsed from decimal text and formatted as decimal text; it is never a float. */
import { assert, type Currency } from '../kernel/index.ts'

/** A positive decimal number: 1.0823 has the digits 10823 and scale 4. */
export type Rate = { readonly digits: bigint; readonly scale: number }

/** No source publishes longer rates. The limit also bounds the cost of hostile text. */
const decimalForm = /^(\d{1,7})(?:\.(\d{1,10}))?$/
/** No real currency has a rate outside these bounds: such a rate is a mistake of the source. */
const rateMax = 1_000_000n
const leadingZerosMax = 6

/**
 * Parses a plain decimal. Undefined: the text has an exponent, a sign or another form, or the rate is zero or out of
 * bounds.
 */
export function parseRate(text: string): Rate | undefined {
  const match = decimalForm.exec(text)
  if (match === null) return undefined
  const [, whole = '', fraction = ''] = match
  const digits = BigInt(`${whole}${fraction}`)
  const scale = fraction.length
  const isTooSmall = digits * 10n ** BigInt(leadingZerosMax) < 10n ** BigInt(scale)
  return digits === 0n || isTooSmall || digits > rateMax * 10n ** BigInt(scale) ? undefined : { digits, scale }
}

/** Formats a rate as a plain decimal without an exponent, which is also a JSON number. */
export function formatRate({ digits, scale }: Rate): string {
  if (scale === 0) return digits.toString()
  const text = digits.toString().padStart(scale + 1, '0')
  return `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

/** Parses a stored rate. Malformed text is a bug, because `readRate` has checked it before. */
export function parseStoredRate(text: string): Rate {
  const [whole = '', fraction = ''] = text.split('.')
  const rate = { digits: BigInt(`${whole}${fraction}`), scale: fraction.length }
  assert(rate.digits > 0n, `stored rate is not positive: ${text}`)
  return rate
}

type Rounding = 'down' | 'half-even'

/** Divides two positive numbers. The rate has at least `significant` digits, and no trailing zeros. */
export function roundedRate(over: bigint, under: bigint, significant: number, rounding: Rounding): Rate {
  assert(over > 0n && under > 0n, 'rate is not positive')
  let scale = significant - over.toString().length + under.toString().length - 1
  const quotientAt = (digits: number) => (over * 10n ** BigInt(Math.max(0, digits))) / under
  scale = Math.max(0, scale)
  // The estimate is one digit short if the numerator begins with a smaller digit than the denominator.
  if (quotientAt(scale).toString().length < significant) scale += 1
  const scaled = over * 10n ** BigInt(scale)
  const digits = scaled / under
  const rest = (scaled % under) * 2n
  const up = rounding === 'half-even' && (rest > under || (rest === under && digits % 2n === 1n))
  return withoutTrailingZeros({ digits: up ? digits + 1n : digits, scale })
}

function withoutTrailingZeros({ digits, scale }: Rate): Rate {
  let [shorter, rest] = [digits, scale]
  while (rest > 0 && shorter % 10n === 0n) {
    shorter /= 10n
    rest -= 1
  }
  return { digits: shorter, scale: rest }
}

// The port of a source of rates. A connector of another source implements it; README.md states the requirements.

/** Amount of each currency that one euro buys, without EUR. A source may lack some currencies of the service. */
export type Quotes = Readonly<Partial<Record<Currency, Rate>>>

/** `asOf`: the time of the rates according to the source. */
export type RateSheet = { readonly asOf: Date; readonly quotes: Quotes }

export type RateSource = {
  /** Name of the source in sheets, answers and logs. */
  readonly id: string
  /** Oldest permitted age of a sheet, unless the operator sets another. */
  readonly maxAgeMs: number
  /** `target_days`: the source publishes only on days when TARGET is open. */
  readonly publishes: 'always' | 'target_days'
  /** Returns the time until the next read. */
  readonly nextInMs: (now: Date) => number
  /** Throws an Error if there is no readable sheet. `signal` ends a read that takes too long. */
  readonly read: (signal: AbortSignal, now: Date) => Promise<RateSheet>
}
