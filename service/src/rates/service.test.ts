import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { untilEnd } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { createLog, hourMs, minuteMs } from '../kernel/index.ts'
import { createDatabase, sql } from '../postgres/index.ts'
import { createConfiguredRates } from './configured.ts'
import { type RateSource, formatRate } from './rate.ts'
import { createRates, createSourceReader, type Rates } from './service.ts'
import { sandboxWalk } from './sandbox-walk.ts'
import { ratesSettings } from './settings.ts'

const log = createLog('silent')
const database = await createTestDatabase()
const db = untilEnd(createDatabase({ url: database.url, connectionsMax: 4, log }))
const folder = await mkdtemp(join(tmpdir(), 'rates-'))
after(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const unavailable = (error: unknown) => error instanceof Refusal && error.code === 'fx_rates_unavailable'
const read = (name: keyof typeof ratesSettings, value: string | undefined) =>
  (ratesSettings[name].read as (text: string | undefined, mode: 'sandbox') => unknown)(value, 'sandbox')
const configured = (source: string, clock = createManualClock(new Date('2026-11-20T16:00:00Z'))) => {
  const config = {
    FX_RATES: ratesSettings.FX_RATES.read(source, 'sandbox'),
    FX_RATES_SEED: 'sandbox',
    FX_RATES_MAX_AGE_SECONDS: undefined,
    FX_RATES_JUMP_MAX_PERCENT: 20,
    REFERENCE_CURRENCY: 'EUR' as const,
    REFERENCE_RATES_MAX_AGE_DAYS: 7,
  }
  const ages: number[] = []
  const rates = createConfiguredRates(config, { db, clock, log, observe: ({ ageMs }) => void ages.push(ageMs) })
  return { rates, clock, ages }
}
const usd = async (rates: Rates) => {
  const { quotes } = await rates.current(db)
  return quotes.USD && formatRate(quotes.USD)
}
const xml = (rate: string, time = '2026-11-20') =>
  `<e:Envelope xmlns:e="x"><Cube><Cube time="${time}"><Cube currency="USD" rate="${rate}"/></Cube></Cube></e:Envelope>`

test('rules can convert with a sheet for seven days, even if it is too old for quotes', async () => {
  const path = join(folder, 'reference.xml')
  await writeFile(path, xml('1.25'))
  const { rates, clock } = configured(pathToFileURL(path).href)
  const gbp = { amount: 1_00n, currency: 'GBP' } as const
  const dollars = { amount: 1_00n, currency: 'USD' } as const
  await rates.refreshStep()
  const inEuros = { amount: 80n, currency: 'EUR', rate: '0.8', rateOn: '2026-11-20' }
  assert.deepEqual((await rates.converter(db))(dollars), inEuros)
  clock.advance(4 * 24 * hourMs)
  await assert.rejects(rates.current(db), unavailable)
  const convert = await rates.converter(db)
  assert.deepEqual(convert(dollars), inEuros)
  assert.deepEqual(convert(dollars, 'USD'), { ...dollars, rate: '1', rateOn: '2026-11-24' })
  assert.equal(convert(gbp), undefined)
  clock.advance(4 * 24 * hourMs)
  assert.equal((await rates.converter(db))(dollars), undefined)
  const none = await configured('none').rates.converter(db)
  assert.equal(none(dollars), undefined)
  assert.deepEqual(none({ amount: 5n, currency: 'EUR' }), {
    ...{ amount: 5n, currency: 'EUR', rate: '1', rateOn: '2026-11-20' },
  })
  assert.equal(read('REFERENCE_CURRENCY', undefined), 'EUR')
  assert.equal(read('REFERENCE_CURRENCY', 'USD'), 'USD')
  assert.throws(() => read('REFERENCE_CURRENCY', 'USDC'), /must be a fiat currency/)
  // The other suites begin without sheets.
  await db.run(sql`delete from rates.sheets`)
})

suite('a file in the format of the ECB', () => {
  const clock = createManualClock(new Date('2026-11-20T16:00:00Z'))
  const path = () => join(folder, 'rates.xml')
  const start = () => configured(pathToFileURL(path()).href, clock)

  test('nothing is quoted before there is a sheet', async () => {
    const { rates, ages } = start()
    await assert.rejects(rates.current(db), unavailable)
    assert.equal(await rates.refreshStep(), 0)
    await assert.rejects(rates.current(db), unavailable)
    assert.ok((ages[0] ?? 0) > 50 * 365 * 24 * hourMs)
  })

  test('a sheet is stored once, and read by every process', async () => {
    await writeFile(path(), xml('1.0823'))
    const { rates, ages } = start()
    for (let step = 0; step < 3; step += 1) await rates.refreshStep()
    assert.equal(await usd(start().rates), '1.0823')
    assert.equal((await db.rows(sql`select id from rates.sheets where source = 'file'`)).length, 1)
    assert.deepEqual(ages, [2 * hourMs, 2 * hourMs, 2 * hourMs])
  })

  test('processes that read at the same time store one sheet', async () => {
    await writeFile(path(), xml('1.0824'))
    await Promise.all(Array.from({ length: 6 }, () => start().rates.refreshStep()))
    assert.equal((await db.rows(sql`select id from rates.sheets where source = 'file'`)).length, 2)
    assert.equal(await usd(start().rates), '1.0824')
  })

  test('the previous sheet remains in force if the new one is unreadable', async () => {
    const { rates } = start()
    for (const text of ['', '<html/>', xml('0'), xml('1e400'), xml('1.09', '2026-11-30')]) {
      await writeFile(path(), text)
      await rates.refreshStep()
      assert.equal(await usd(rates), '1.0824')
    }
    await rm(path())
    await rates.refreshStep()
    assert.equal(await usd(rates), '1.0824')
  })

  test('a sheet with a rate that jumps, or an older sheet, is not stored', async () => {
    const { rates } = start()
    for (const text of [xml('10.823'), xml('0.5'), xml('1.07', '2026-11-19')]) {
      await writeFile(path(), text)
      await rates.refreshStep()
      assert.equal(await usd(rates), '1.0824')
    }
  })

  test('rates remain valid over a weekend, but not after the evening of the next publication day', async () => {
    const { rates } = start()
    clock.advance(new Date('2026-11-23T19:59:00Z').getTime() - clock.now().getTime())
    assert.equal(await usd(rates), '1.0824')
    clock.advance(2 * minuteMs)
    await assert.rejects(rates.current(db), unavailable)
    await writeFile(path(), xml('1.0900', '2026-11-23'))
    await rates.refreshStep()
    assert.equal(await usd(rates), '1.0900')
  })
})

suite('a URL', async () => {
  let answer: RequestListener
  const server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/eurofxref-daily.xml`
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  test('rates are read from the URL, and an invalid response keeps the previous rates', async () => {
    const { rates } = configured(url)
    answer = (_request, response) => void response.end(xml('1.0823'))
    await rates.refreshStep()
    assert.equal(await usd(rates), '1.0823')
    const lies: readonly RequestListener[] = [
      (_request, response) => void response.writeHead(302, { location: url }).end(),
      (_request, response) => void response.writeHead(500).end(xml('1.09')),
      (_request, response) => void response.end('<!doctype html><html></html>'),
      (_request, response) => void response.end(xml('1.09').padEnd(100_000)),
      (_request, response) => void response.writeHead(200, { 'content-length': '10000' }).end(xml('1.09')),
      (request) => void request.socket.destroy(),
    ]
    for (const lie of lies) {
      answer = lie
      await rates.refreshStep()
      assert.equal(await usd(rates), '1.0823')
    }
  })

  test('a URL that sends an endless response is abandoned, and never delays a request', async () => {
    const { rates } = configured(url)
    answer = (_request, response) => {
      let isOpen = true
      response.on('close', () => {
        isOpen = false
      })
      const more = () => {
        if (isOpen) response.write(' '.repeat(16_384))
        if (isOpen) setImmediate(more)
      }
      more()
    }
    await rates.refreshStep()
    assert.equal(await usd(rates), '1.0823')
  })
})

suite('a source that hangs', () => {
  const hanging: RateSource = {
    id: 'hanging',
    maxAgeMs: hourMs,
    nextInMs: () => 1,
    publishes: 'always',
    read: () => new Promise(() => undefined),
  }

  test('a source that hangs is abandoned, and not read again while it hangs', async () => {
    const reading = createSourceReader(hanging, createManualClock(new Date(0)), 20)
    await assert.rejects(reading(), /does not answer/)
    await assert.rejects(reading(), /has not ended/)
  })

  test('a source that hangs does not delay a request', async () => {
    const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))
    const reference = { currency: 'EUR', daysMax: 7 } as const
    const limits = { maxAgeMs: undefined, jumpMaxPercent: 20, reference }
    const rates = createRates({ db, clock, log, source: hanging, ...limits })
    void rates.refreshStep()
    await assert.rejects(rates.current(db), unavailable)
  })
})

suite('the sandbox', () => {
  const at = (time: string, seed = 'sandbox') => sandboxWalk(seed).read(AbortSignal.abort(), new Date(time))

  test('sandbox rates depend only on the seed and the time', async () => {
    const sheet = await at('2026-01-01T00:00:07Z')
    assert.deepEqual(sheet, await at('2026-01-01T00:00:00Z'))
    assert.deepEqual(
      Object.entries(sheet.quotes).map(([currency, rate]) => `${currency} ${formatRate(rate)}`),
      ['GBP 0.852815', 'USD 1.07747', 'USDC 1.07746', 'EURC 0.999993'],
    )
    assert.notDeepEqual(sheet.quotes, (await at('2026-01-01T00:00:10Z')).quotes)
    assert.notDeepEqual(sheet.quotes, (await at('2026-01-01T00:00:00Z', 'other')).quotes)
  })

  test('sandbox rates move a little with each step, and remain near their centre', async () => {
    let before = 1.082
    let moved = 0
    for (let step = 0; step < 3000; step += 1) {
      const { quotes } = await at(new Date(Date.UTC(2026, 0, 1) + step * 10_000).toISOString())
      const now = Number(quotes.USD && formatRate(quotes.USD))
      if (step > 0 && now !== before) moved += 1
      if (step > 0) assert.ok(Math.abs(now / before - 1) < 0.001)
      assert.ok(Math.abs(now / 1.082 - 1) <= 0.01)
      before = now
    }
    assert.ok(moved > 2000, String(moved))
  })

  test('a manually set rate stays while the others move, until its pair follows the source again', async () => {
    const { rates, clock } = configured('sandbox')
    await rates.prepare()
    const rate = { digits: 125n, scale: 2 }
    await rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate } })
    for (let step = 0; step < 3; step += 1) {
      clock.advance(10_000)
      await rates.refreshStep()
      const { quotes, byHand } = await rates.current(db)
      assert.deepEqual([quotes.USD, byHand], [rate, { USD: rate }])
      const walk = await sandboxWalk('sandbox').read(AbortSignal.abort(), clock.now())
      assert.deepEqual(quotes.GBP, walk.quotes.GBP)
    }
    const { byHand } = await rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: null } })
    assert.deepEqual(byHand, {})
    assert.notDeepEqual((await rates.current(db)).quotes.USD, rate)
  })

  test('stopped rates are never quoted until they are started', async () => {
    const { rates, clock } = configured('sandbox')
    await rates.setByHand({ stopped: true })
    clock.advance(20_000)
    await rates.refreshStep()
    await assert.rejects(rates.current(db), unavailable)
    await rates.setByHand({ stopped: false })
    await rates.current(db)
    clock.advance(2 * minuteMs)
    await assert.rejects(rates.current(db), unavailable)
    await rates.refreshStep()
    await rates.current(db)
  })

  test('sheets of the sandbox are kept for a week', async () => {
    const { rates, clock } = configured('sandbox')
    await rates.refreshStep()
    clock.advance(8 * 24 * hourMs)
    await rates.refreshStep()
    assert.equal((await db.rows(sql`select id from rates.sheets where source = 'sandbox'`)).length, 1)
  })

  test('only the rates of a sandbox can be set manually', async () => {
    const { rates } = configured('none')
    await assert.rejects(rates.setByHand({ stopped: true }), unavailable)
    await assert.rejects(rates.current(db), unavailable)
    assert.equal(await rates.refreshStep(), 0)
    const file = configured(pathToFileURL(join(folder, 'none.xml')).href).rates
    await assert.rejects(file.setByHand({ stopped: true }), unavailable)
  })
})

suite('settings', () => {
  test('sources', () => {
    assert.deepEqual(read('FX_RATES', undefined), { kind: 'sandbox' })
    assert.deepEqual(ratesSettings.FX_RATES.read(undefined, 'production'), { kind: 'none' })
    for (const text of ['ecb', 'ftp://example.com/', '/var/rates.xml']) assert.throws(() => read('FX_RATES', text))
  })

  test('margins and fees', () => {
    assert.deepEqual(read('FX_MARGIN', '50,EUR/USD=25'), { others: 50, pairs: new Map([['EUR/USD', 25]]) })
    assert.deepEqual(
      read('FX_FEE', 'EUR=0.50+10bp, USD=5bp,GBP=1,USDC=0.000001'),
      new Map([
        ['EUR', { fixed: 50n, basisPoints: 10 }],
        ['USD', { fixed: 0n, basisPoints: 5 }],
        ['GBP', { fixed: 100n, basisPoints: 0 }],
        ['USDC', { fixed: 1n, basisPoints: 0 }],
      ]),
    )
    for (const text of [
      '',
      '50,60',
      'EUR/USD=25',
      '5000',
      '50,EUR/EUR=1',
      '50,EUR/JPY=1',
      '50,EUR/USD=1,EUR/USD=2',
      '-1',
    ])
      assert.throws(() => read('FX_MARGIN', text), text)
    for (const text of ['EUR', 'EUR=', 'EUR=0.001', 'JPY=1', 'EUR=1,EUR=2', 'EUR=-1', 'EUR=10bp+1', 'EUR=5000bp'])
      assert.throws(() => read('FX_FEE', text), text)
  })
})
