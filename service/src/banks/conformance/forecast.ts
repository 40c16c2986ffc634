/** Checks of `forecast`: it is a computation, asks no bank and leaves nothing there. */
import assert from 'node:assert/strict'
import { systemClock } from '../../kernel/index.ts'
import type { Check } from './check.ts'

const dateForm = /^\d{4}-\d{2}-\d{2}$/

const forecasts: Check = {
  title: 'a forecast has times in order, is the same each time, and sends the bank nothing',
  needs: [],
  run: async ({ connector, harness, instruction }) => {
    const one = instruction()
    const at = (harness.clock ?? systemClock).now()
    const forecast = connector().forecast(one, at)
    assert.deepEqual(connector().forecast(one, at), forecast, 'two forecasts at one time are the same')
    assert.equal(await harness.recordOf(one), undefined, 'a forecast sends the bank nothing')
    assert.ok(forecast.possible, 'a payment that the bank accepts is possible')
    const { cutOffAt, submitsAt, valueDate, arrivesOn } = forecast
    assert.ok(submitsAt >= at, 'a payment is submitted at the time of the forecast or later')
    assert.ok(cutOffAt === null || cutOffAt > submitsAt, 'the cut-off is after the submission')
    assert.match(valueDate, dateForm, 'the value date is YYYY-MM-DD')
    if (arrivesOn === null) return
    assert.match(arrivesOn, dateForm, 'the day of arrival is YYYY-MM-DD')
    assert.ok(arrivesOn >= valueDate, 'the money does not arrive before the value date')
  },
}

export const forecastChecks: readonly Check[] = [forecasts]
