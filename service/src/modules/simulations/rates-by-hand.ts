/** Rates of the sandbox that are set by hand: reads the request and writes the answer. */
import { type BodyOf, decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { readCurrency, refuseField } from '../../api/index.ts'
import { type ByHand, rateText, readRate, type Rates } from '../../rates/index.ts'

export function createRatesByHand({ rates }: { readonly rates: Pick<Rates, 'setByHand'> }) {
  return async (body: BodyOf<'simulateFxRates'>): Promise<ResponseOf<'simulateFxRates'>> => {
    const { asOf, stopped, byHand } = await rates.setByHand(readChange(body))
    const setByHand = Object.entries(byHand).map(([currency, rate]) => ({ currency, rate: rawNumber(rateText(rate)) }))
    return { asOf: asOf.toISOString(), stale: stopped, setByHand }
  }
}

const required = (pointer: string) =>
  refuseField({ pointer, code: 'required', message: 'is required: give base and quote together' })

/** Refuses: validation_failed, currency_not_supported. */
function readChange({ base, quote, rate, stale }: BodyOf<'simulateFxRates'>): ByHand {
  const stopped = stale === undefined ? {} : { stopped: stale }
  if (base === undefined && quote === undefined && rate === undefined) {
    if (stale === undefined)
      throw refuseField({ pointer: '', code: 'required', message: 'give a rate, or stale, or both' })
    return stopped
  }
  if (base === undefined) throw required('/base')
  if (quote === undefined) throw required('/quote')
  const pair = { base: readCurrency(base, '/base'), quote: readCurrency(quote, '/quote') }
  if (pair.base === pair.quote)
    throw refuseField({ pointer: '/quote', code: 'invalid_value', message: 'must differ from base' })
  const read = rate === undefined ? null : readRate(decimalText(rate))
  if (read === undefined)
    throw refuseField({
      pointer: '/rate',
      code: 'out_of_range',
      message: 'must be from 0.000001 to 1000000, with at most 10 decimal digits and no exponent',
    })
  return { pair: { ...pair, rate: read }, ...stopped }
}
