/**
 * The rates of the sandbox. They move like a market, and depend only on the seed and the time: every process, and a
 * partner's own program, computes the same rates. Integers only. README.md has the formula.
 */
import { createHash } from 'node:crypto'
import { secondMs } from '../kernel/index.ts'
import { type Quotes, type Rate, type RateSource, roundedRate } from './rate.ts'

export const sandboxSourceId = 'sandbox'
const stepMs = 10 * secondMs
/** Six steps: a worker that hangs for a minute is detected. */
const maxAgeMs = 60 * secondMs

/** Amplitude grows with the square root of the wavelength, as in a random walk. The longest wave takes 11 hours. */
const octaves = [0, 1, 2, 3, 4, 5, 6].map((octave) => ({
  octave,
  steps: 4n ** BigInt(octave),
  weight: 2n ** BigInt(octave),
}))
const weights = octaves.reduce((sum, { weight }) => sum + weight, 0n)
const noiseMax = 1000n
const million = 1_000_000n
const ratePlaces = 6

/** Centre in millionths for one euro, and the largest deviation of a rate from it, in millionths of the centre. */
const centres = {
  USD: { centre: 1_082_000n, spread: 10_000n },
  GBP: { centre: 853_000n, spread: 8_000n },
  EURC: { centre: 1_000_000n, spread: 150n },
} as const
/** USDC follows USD. */
const usdcSpread = 150n

/** Returns noise from -1000 to 1000: the first four bytes of a hash. */
function noise(seed: string, name: string, octave: number, index: bigint): bigint {
  const first = createHash('sha256').update(`${seed}:${name}:${octave}:${index}`).digest().readUInt32BE()
  return (BigInt(first) % (2n * noiseMax + 1n)) - noiseMax
}

/** Returns the deviation of a rate from its centre at a step, from -1000 to 1000: a weighted sum of interpolated noise. */
function distance(seed: string, name: string, step: bigint): bigint {
  const sum = octaves.reduce((total, { octave, steps, weight }) => {
    const [index, offset] = [step / steps, step % steps]
    const [from, to] = [noise(seed, name, octave, index), noise(seed, name, octave, index + 1n)]
    return total + (weight * (from * (steps - offset) + to * offset)) / steps
  }, 0n)
  return sum / weights
}

const moved = (millionths: bigint, spread: bigint, from: bigint): bigint =>
  (millionths * (million + (spread * from) / noiseMax)) / million

const toRate = (millionths: bigint): Rate => roundedRate(millionths, million, ratePlaces, 'half-even')

function quotesAt(seed: string, step: bigint): Quotes {
  const at = (name: keyof typeof centres) =>
    moved(centres[name].centre, centres[name].spread, distance(seed, name, step))
  const usd = at('USD')
  const usdc = moved(usd, usdcSpread, distance(seed, 'USDC', step))
  return { GBP: toRate(at('GBP')), USD: toRate(usd), USDC: toRate(usdc), EURC: toRate(at('EURC')) }
}

export const sandboxWalk = (seed: string): RateSource => ({
  id: sandboxSourceId,
  maxAgeMs,
  publishes: 'always',
  // A timer may end a millisecond early.
  nextInMs: (now) => stepMs - (now.getTime() % stepMs) + 1,
  read: (_signal, now) => {
    const step = Math.floor(now.getTime() / stepMs)
    return Promise.resolve({ asOf: new Date(step * stepMs), quotes: quotesAt(seed, BigInt(step)) })
  },
})
