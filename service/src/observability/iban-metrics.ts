/** The metrics of pools of IBANs from banks' files. */
import { Gauge, type Registry } from 'prom-client'

type Level = {
  readonly pool: string
  readonly currency: string
  readonly free: number
  readonly daysLeft: number | null
  readonly isLow: boolean
}
/** Replaces the levels of all pools. */
export type IbanPoolMetrics = (levels: readonly Level[]) => void

/** Pools with a series of their own: the low ones first. All others share the series `other`. */
const namedMax = 100

export function createIbanPoolMetrics(registers: Registry[]): IbanPoolMetrics {
  const labelNames = ['pool', 'currency']
  const free = new Gauge({
    name: 'payments_iban_pool_free',
    help: 'Free IBANs of an imported pool',
    labelNames,
    registers,
  })
  const days = new Gauge({
    name: 'payments_iban_pool_days_left',
    help: 'Days until an imported pool of IBANs is empty, by its use of the last 30 days; no series without use',
    labelNames,
    registers,
  })
  const low = new Gauge({
    name: 'payments_iban_pool_low',
    help: '1 while an imported pool of IBANs is below IBAN_POOL_FREE_MIN or IBAN_POOL_DAYS_MIN',
    labelNames,
    registers,
  })
  return (levels) => {
    const sorted = [...levels.filter(({ isLow }) => isLow), ...levels.filter(({ isLow }) => !isLow)]
    for (const gauge of [free, days, low]) gauge.reset()
    sorted.forEach((level, at) => {
      const { currency } = level
      const pool = at < namedMax ? level.pool : 'other'
      free.inc({ pool, currency }, level.free)
      low.inc({ pool, currency }, level.isLow ? 1 : 0)
      if (level.daysLeft !== null && pool !== 'other') days.set({ pool, currency }, level.daysLeft)
    })
  }
}
