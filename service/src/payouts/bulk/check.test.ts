/** Tests the check of a file before it is sent, which applies the rules of payouts to every line. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, ip, type TestPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { pain001Text } from '../../../../test/support/pain001.ts'
import { amountText, dayMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { type CheckedBulk, createBulkCheck, lineKey } from './check.ts'
import { lineDigest } from './digest.ts'
import { readPain001Lines } from './file-lines.ts'
import { lineColumns, type TypedLine } from './lines.ts'
import { bulksWithLines } from './store.ts'

/** A valid IBAN of a bank and an account number. */
function ibanOf(account: number): string {
  const bban = `37040044${String(account).padStart(10, '0')}`
  const check = 98n - (BigInt(`${bban}131400`) % 97n)
  return `DE${String(check).padStart(2, '0')}${bban}`
}

const lineOf = (line: number, cells: Partial<TypedLine['cells']>, choice?: string): TypedLine => ({
  line,
  cells: {
    ...(Object.fromEntries(lineColumns.map((column) => [column, ''])) as TypedLine['cells']),
    ...{ amount: '10.00', currency: 'EUR' },
    ...cells,
  },
  ...(choice === undefined ? {} : { choice }),
})

/** The payee or the problem of each line. */
function shownOf({ lines }: CheckedBulk): readonly string[] {
  return lines.map(({ mistakes, resolved, refusal }) => {
    if (refusal !== undefined) return refusal.code
    if (resolved === undefined) return mistakes.map(({ column, code }) => `${column} ${code}`).join()
    if (resolved.kind === 'question') return `${resolved.about}: ${resolved.options.map(({ name }) => name).join()}`
    if (resolved.kind === 'problem') return resolved.code
    return `${resolved.kind} ${resolved.payee.name}`
  })
}

suite('the check of a bulk', async () => {
  const service = await useModules()
  const check = ({ caller }: TestPartner, lines: readonly TypedLine[], key = newId()) =>
    service.bulkPayouts.check(caller, key, lines)
  const payee = (partner: TestPartner, fields: object) =>
    service.beneficiaries.create(partner.partnerId, {
      currency: 'EUR',
      name: 'Ada Lovelace',
      iban: ibanOf(1),
      ...fields,
    })
  /** Sends lines to payees that are saved, as the console does, and returns the results by line. */
  const send = async (partner: TestPartner, lines: readonly TypedLine[], key = newId()) => {
    const { lines: checked } = await check(partner, lines, key)
    const payouts = checked.map(({ read, resolved, typed }) => {
      assert.ok(read !== undefined && resolved?.kind === 'saved', JSON.stringify(typed))
      const { amount, currency, reference } = read
      const own = { beneficiaryId: resolved.payee.id, currency, idempotencyKey: lineKey(key, typed) }
      const money = rawNumber(amountText(amount, currency))
      return { ...own, amount: money, ...(reference === null ? {} : { reference }) }
    })
    const { bulk } = await service.bulkPayouts.create(
      partner.caller,
      { mode: 'BestEffort', idempotencyKey: key, payouts },
      ip,
    )
    while ((await service.bulkPayouts.step()) > 0);
    return { id: bulk.id, items: await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined) }
  }

  test('a check of 1,000 lines makes as many calls as a check of ten lines', async () => {
    const partner = await addPartner(service, 100_000_00n)
    await payee(partner, { name: 'Landlord', alias: 'rent' })
    const calls: string[] = []
    const counted = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (from, name, receiver) => {
          const value: unknown = Reflect.get(from, name, receiver)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => {
            calls.push(String(name))
            return (value as (...given: unknown[]) => unknown).apply(from, args)
          }
        },
      })
    const deps = { clock: service.clock, db: counted(service.db) }
    const checkCounted = createBulkCheck({
      ...deps,
      beneficiaries: counted(service.beneficiaries),
      payouts: counted(service.payouts),
    })
    const fileOf = (count: number) =>
      Array.from({ length: count }, (_each, at) => {
        if (at === 149) return lineOf(at + 2, { payee: 'unknown', reference: String(at) })
        if (at % 2 === 0) return lineOf(at + 2, { payee: 'rent', reference: String(at) })
        return lineOf(at + 2, { name: `New ${at}`, iban: ibanOf(1000 + at), reference: String(at) })
      })
    const small = await checkCounted(partner.caller, newId(), fileOf(10))
    const needed = calls.splice(0).toSorted()
    assert.deepEqual(new Set(shownOf(small).map((text) => text.split(' ')[0])), new Set(['saved', 'new']))
    const whole = await checkCounted(partner.caller, newId(), fileOf(1000))
    assert.deepEqual(calls.toSorted(), needed)
    const shown = shownOf(whole)
    assert.equal(shown[149], 'payeeUnknown')
    assert.deepEqual(
      shown.flatMap((text, at) => (/^(?:saved|new) /.test(text) ? [] : [at])),
      [149],
    )
    assert.equal(whole.newPayees.length, 499)
    assert.deepEqual(whole.funds, [
      { currency: 'EUR', needed: 999_000n, fees: 0n, available: 10_000_000n, covers: true },
    ])
  })

  test('payees are found by account, short name, name and id, and another name for an account needs a confirmation', async () => {
    const partner = await addPartner(service, 100_00n)
    const müller = await payee(partner, { name: 'Müller GmbH', iban: ibanOf(7), alias: 'Miete' })
    await payee(partner, { name: 'Jane Doe', iban: ibanOf(8) })
    await payee(partner, { name: 'Jane Doe', iban: ibanOf(9) })
    await payee(partner, { name: 'Dollars Only', iban: ibanOf(10), currency: 'USD' })
    const { beneficiary } = partner
    const lines = [
      lineOf(2, { name: 'Mueller GmbH', iban: ibanOf(7) }),
      lineOf(3, { payee: 'MIETE' }),
      lineOf(4, { payee: 'müller gmbh' }),
      lineOf(5, { payee: müller.id.toUpperCase() }),
      lineOf(6, { payee: beneficiary.id }),
      lineOf(7, { name: 'Another GmbH', iban: ibanOf(7) }),
      lineOf(8, { name: 'Another GmbH', iban: ibanOf(7) }, müller.id),
      lineOf(9, { name: 'Another GmbH', iban: ibanOf(7) }, 'new'),
      lineOf(10, { payee: 'jane doe' }),
      lineOf(11, { payee: 'Jane Doe', iban: ibanOf(9) }),
      lineOf(12, { payee: 'Jane Doe', iban: ibanOf(11) }),
      lineOf(13, { payee: 'Grace Hopper' }),
      lineOf(14, { payee: 'Dollars Only' }),
      lineOf(15, { name: 'Dollars Only', iban: ibanOf(10) }),
      lineOf(16, { payee: newId() }),
    ]
    assert.deepEqual(shownOf(await check(partner, lines)), [
      ...['saved Müller GmbH', 'saved Müller GmbH', 'saved Müller GmbH', 'saved Müller GmbH', 'saved Grace Hopper'],
      ...['name: Müller GmbH', 'saved Müller GmbH', 'new Another GmbH', 'several: Jane Doe,Jane Doe', 'saved Jane Doe'],
      // A payee of a customer is found by its id only.
      ...['payeeOtherAccount', 'payeeUnknown', 'payeeCurrency', 'new Dollars Only', 'payeeUnknown'],
    ])
  })

  test('the check predicts limits, currencies, funds and waiting times', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId } = partner
    await payee(partner, { name: 'Blocked Co', iban: ibanOf(20) })
    const limit = {
      partnerId,
      currency: 'EUR',
      period: 'day',
      amount: 3000n,
      scope: 'partner',
      allCurrencies: false,
    } as const
    await service.db.transaction((tx) => service.payoutControls.limits.set(tx, limit))
    const lines = Array.from({ length: 5 }, (_each, at) => lineOf(at + 2, { payee: 'Blocked Co', reference: `L${at}` }))
    const shown = shownOf(await check(partner, lines))
    assert.deepEqual(shown.slice(3), ['limit_exceeded', 'limit_exceeded'])
    const { items } = await send(partner, lines)
    assert.equal(items.filter(({ problemCode }) => problemCode === 'limit_exceeded').length, 2)
  })

  test('new payees are checked against the rules for new beneficiaries', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId } = partner
    const lines = [lineOf(2, { name: 'New Co', iban: ibanOf(30) }), lineOf(3, { name: 'New Co', iban: ibanOf(30) })]
    const before = await check(partner, lines)
    assert.deepEqual(shownOf(before), ['new New Co', 'new New Co'])
    assert.deepEqual(
      before.newPayees.map(({ name, lines: named, verification }) => [name, named, verification]),
      [['New Co', [2, 3], undefined]],
    )
    await service.beneficiaries.verify(partner.caller, { name: 'New Co', iban: ibanOf(30) })
    assert.equal((await check(partner, lines)).newPayees[0]?.verification?.iban, ibanOf(30))
    await service.db.transaction((tx) =>
      service.payoutControls.coolingOffs.set(tx, { partnerId, currency: 'EUR', hours: 24 }),
    )
    assert.deepEqual(shownOf(await check(partner, lines)), ['beneficiary_cooling_off', 'beneficiary_cooling_off'])
    const none = await service.beneficiaries.byAccounts(partnerId, null, [ibanOf(30)])
    assert.deepEqual(none, [])
  })

  test('the check states the needed and the missing amount by currency', async () => {
    const partner = await addPartner(service, 15_00n)
    await payee(partner, { name: 'Landlord' })
    const { funds } = await check(partner, [lineOf(2, { payee: 'Landlord' }), lineOf(3, { payee: 'Landlord' })])
    assert.deepEqual(funds, [{ currency: 'EUR', needed: 2000n, fees: 0n, available: 1500n, covers: false }])
  })

  test('the check reports earlier bulks with the same or mostly the same lines', async () => {
    const partner = await addPartner(service, 1_000_00n)
    await payee(partner, { name: 'Landlord' })
    const lines = Array.from({ length: 10 }, (_each, at) =>
      lineOf(at + 2, { payee: 'Landlord', reference: `INV ${at}` }),
    )
    const first = await check(partner, lines)
    assert.deepEqual([first.earlier, first.lines.flatMap(({ duplicates }) => duplicates.lines)], [[], []])
    const key = newId()
    const { id } = await send(partner, lines, key)
    assert.deepEqual((await check(partner, lines, key)).earlier, [], 'not of itself')
    const again = await check(
      partner,
      lines.map((line) => ({ ...line, line: line.line + 100 })),
    )
    assert.deepEqual(
      again.earlier.map((bulk) => [bulk.id, bulk.accountName, bulk.same, bulk.of]),
      [[id, 'Test account', 10, 10]],
    )
    assert.ok(
      again.lines.every(
        ({
          read,
          duplicates: {
            earlier: [first],
          },
        }) => first?.because === 'reference' && first.remittance === read?.reference,
      ),
    )
    assert.notEqual(again.seen, first.seen)
    const other = (from: number) =>
      lines.map((line, at) =>
        at < from ? line : lineOf(line.line, { payee: 'Landlord', amount: '7', reference: `${at}` }),
      )
    assert.deepEqual(
      (await check(partner, other(6))).earlier.map(({ same, of }) => [same, of]),
      [[6, 10]],
    )
    assert.deepEqual((await check(partner, other(5))).earlier, [])
    const [item] = await service.bulkPayouts.items(partner.partnerId, id, undefined)
    assert.ok(item !== undefined)
    const found = (since: string) =>
      bulksWithLines(service.db, partner.partnerId, { digests: [lineDigest(item)], since, linesMin: 1, key: '' }, 3)
    assert.deepEqual([(await found(id)).length, (await found(newId())).length], [1, 0], 'only since a time')
  })

  test('the check reports the standing order that a line may repeat', async () => {
    const partner = await addPartner(service, 100_00n)
    const landlord = await payee(partner, { name: 'Landlord', iban: ibanOf(50) })
    const startsOn = new Date(service.clock.now().getTime() + 3 * dayMs).toISOString().slice(0, 10)
    const paid = { beneficiaryId: landlord.id, amount: rawNumber('10.00'), currency: 'EUR', reference: 'INV-7' }
    const schedule = { frequency: 'Once', startsOn, businessDays: 'None' } as const
    const lines = [
      lineOf(2, { payee: 'Landlord', reference: 'inv 7' }),
      lineOf(3, { name: 'New name', iban: ibanOf(50), reference: 'INV-8' }, 'new'),
      lineOf(4, { payee: 'Landlord', reference: 'INV-7', amount: '11' }),
    ]
    const before = await check(partner, lines)
    const order = await service.standingOrders.create(partner.caller, { ...paid, schedule }, ip)
    const found = await check(partner, lines)
    assert.deepEqual(
      found.lines.map(({ duplicates }) => duplicates.scheduled.map(({ id, because }) => [id, because])),
      [[[order.id, 'reference']], [[order.id, 'days']], []],
    )
    assert.notEqual(found.seen, before.seen)
  })

  test('a pain.001 adds fields to a new payee, and must not contradict a saved one', async () => {
    const partner = await addPartner(service, 100_00n)
    const own = { streetName: 'Hauptstraße', city: 'Köln', country: 'DE' }
    await payee(partner, { name: 'Ada GmbH', iban: ibanOf(60), address: own })
    const transfer = (iban: string, name: string, address: object) => ({
      ...{ minor: 10_00n, iban, creditor: { name, address }, creditorAgent: { bic: 'COBADEFFXXX' } },
    })
    const document = pain001Text(
      'MSG-7',
      [
        transfer(ibanOf(60), 'Ada GmbH', { town: 'KOELN', country: 'DE' }),
        transfer(ibanOf(60), 'Ada GmbH', { town: 'Bonn', country: 'DE' }),
        transfer(ibanOf(61), 'Bo GmbH', { town: 'Bonn', country: 'DE' }),
      ],
      { createdAt: service.clock.now() },
    )
    const file = await readPain001Lines(Buffer.from(document), service.clock.now().toISOString().slice(0, 10))
    assert.ok(file.kind === 'lines')
    const found = await check(partner, file.lines)
    assert.deepEqual(shownOf(found), ['saved Ada GmbH', 'payeeOtherAddress', 'new Bo GmbH'])
    assert.deepEqual(
      found.newPayees.map(({ more, refusal }) => [more, refusal]),
      [[{ bic: 'COBADEFFXXX', address: { city: 'Bonn', country: 'DE' } }, undefined]],
    )
  })

  test('the check reports lines of a file that repeat each other', async () => {
    const partner = await addPartner(service, 100_00n)
    const line = { name: 'New Co', iban: ibanOf(40), reference: 'INV-7' }
    const { lines } = await check(partner, [lineOf(2, line), lineOf(3, line), lineOf(4, { ...line, amount: '11' })])
    assert.deepEqual(
      lines.map(({ duplicates }) => duplicates.lines),
      [[], [2], []],
    )
  })

  test('an empty file and a file without a readable line need no funds', async () => {
    const partner = await addPartner(service)
    assert.deepEqual((await check(partner, [])).lines, [])
    const { lines, funds } = await check(partner, [lineOf(2, { amount: 'x', payee: 'y' })])
    assert.deepEqual([lines[0]?.mistakes.map(({ code }) => code), funds], [['amountForm'], []])
  })

  test('earlier bulks, and payees by their text, are found by an index', async () => {
    const partner = await addPartner(service)
    const { partnerId } = partner
    const since = newId()
    assert.deepEqual(await bulksWithLines(service.db, partnerId, { digests: [1n], since, linesMin: 1, key: '' }, 3), [])
    await service.db.run(sql`
      insert into beneficiaries.beneficiaries (partner_id, id, name, alias, domestic_account, country, currency, created_at, updated_at)
      select ${partnerId}, gen_random_uuid(), 'Payee ' || number, 'short ' || number, 'USABA021000021/' || number, 'US', 'USD', now(), now()
      from generate_series(1, 20000) as number`)
    await service.db.run(sql`analyze beneficiaries.beneficiaries`)
    const texts = sql`any(array(select lower(given) from unnest(${['PAYEE 7', 'Short 8']}::text[]) as given))`
    const plan = JSON.stringify(
      await service.db.rows<Record<string, string>>(sql`explain (costs off)
      select id from beneficiaries.beneficiaries
      where partner_id = ${partnerId} and removed_at is null and (id = any(${[since]}::uuid[])
        or (customer_id is null and (lower(alias) = ${texts} or lower(name) = ${texts}))) order by id limit 10000`),
    )
    for (const index of ['beneficiaries_by_alias', 'beneficiaries_by_name', 'beneficiaries_pkey|beneficiaries_live'])
      assert.match(plan, new RegExp(index))
    assert.deepEqual(
      (await service.beneficiaries.byTexts(partnerId, ['PAYEE 7', 'Short 8'])).map(({ name }) => name).toSorted(),
      ['Payee 7', 'Payee 8'],
    )
    await service.db.transaction(async (tx) => {
      await tx.run(sql`set local enable_seqscan = off`)
      const lines = await tx.rows<Record<string, string>>(sql`explain (costs off)
        select bulk_id, count(distinct line_digest) as same from payouts.bulk_items
        where partner_id = ${partnerId} and line_digest = any(${[1n, 2n]}::bigint[]) and bulk_id >= ${since}
        group by bulk_id`)
      assert.match(JSON.stringify(lines), /bulk_items_by_line/)
    })
  })
})
