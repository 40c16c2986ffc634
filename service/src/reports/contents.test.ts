/** The contents of reports: rows, camt.053 and the brand of PDFs. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Readable } from 'node:stream'
import { deflateSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import { reportFormats } from '../../../wire/src/reports.ts'
import { pain001Text } from '../../../test/support/pain001.ts'
import { addPartner, pay, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { book, createReportService, dayBefore, now, statementErrors, written } from '../../../test/support/reports.ts'
import { dayMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
import { readAccountReport } from '../iso20022/index.ts'
import { png } from '../../../test/support/png.ts'
import { untilEnd } from '../../../test/support/fixture.ts'

suite('rows', async () => {
  const service = untilEnd(await createReportService())

  type Row = Readonly<Record<string, string>>
  const rowsOf = (text: string): readonly Row[] => parse(text, { columns: true }) as Row[]
  /** Minor units of a decimal with two digits. */
  const cents = (text = '') => BigInt(text.replace('.', ''))

  async function filled(): Promise<TestPartner> {
    const partner = await addPartner(service)
    const { partnerId, customer } = partner
    await book(service, partnerId, [
      { amount: 100_001n, partyId: customer.id, reference: 'INV-1' },
      { amount: 250n, from: 'balance', to: 'fees', partyId: customer.id, reference: 'INV-1' },
      { amount: 7_000_000n, currency: 'USDC' },
    ])
    return partner
  }

  test('opening, lines and closing of a statement agree with the ledger, and with the next statement', async () => {
    const { partnerId, customer } = await filled()
    const middle = now(service)
    await book(service, partnerId, [
      { amount: 999n, from: 'balance', to: 'settlement.bank', partyId: customer.id, reference: 'INV-2' },
      { amount: 5n, reference: 'INV-3' },
    ])
    const to = now(service)
    const spec = { kind: 'statement', format: 'csv', currency: 'EUR' } as const
    const first = rowsOf((await written(service, partnerId, { ...spec, from: dayBefore(to), to: middle })).text)
    const second = rowsOf((await written(service, partnerId, { ...spec, from: middle, to })).text)
    assert.deepEqual(
      second.map(({ record, text, reference, amount, balance }) => [record, text, reference, amount, balance]),
      [
        ['opening', '', '', '', '997.51'],
        ['line', 'Payment sent', 'INV-2', '-9.99', '987.52'],
        ['line', 'Payment received', 'INV-3', '0.05', '987.57'],
        ['closing', '', '', '', '987.57'],
      ],
    )
    assert.equal(first.at(0)?.['balance'], '0.00')
    assert.equal(first.at(-1)?.['balance'], second.at(0)?.['balance'])
    const balances = await service.ledger.balancesAt(service.db, partnerId, to)
    const posted = balances.find(({ name, currency }) => name === 'balance' && currency === 'EUR')?.posted
    assert.equal(cents(second.at(-1)?.['balance']), posted)
  })

  test("a statement without a currency has a section for each currency, and a customer's statement has only its lines", async () => {
    const { partnerId, customer } = await filled()
    const to = now(service)
    const period = { from: dayBefore(to), to }
    const all = rowsOf((await written(service, partnerId, { kind: 'statement', format: 'csv', ...period })).text)
    assert.deepEqual(
      all.map(({ record, currency, balance }) => [record, currency, balance]),
      [
        ['opening', 'EUR', '0.00'],
        ['line', 'EUR', '1000.01'],
        ['line', 'EUR', '997.51'],
        ['closing', 'EUR', '997.51'],
        ['opening', 'USDC', '0.000000'],
        ['line', 'USDC', '7.000000'],
        ['closing', 'USDC', '7.000000'],
      ],
    )
    await book(service, partnerId, [{ amount: 11n, partyId: customer.id }])
    const end = now(service)
    const own = { kind: 'statement', format: 'csv', customerId: customer.serviceId, from: to, to: end } as const
    const ofCustomer = rowsOf((await written(service, partnerId, own)).text)
    assert.deepEqual(
      ofCustomer.map(({ record, currency, customerId, balance }) => [record, currency, customerId, balance]),
      [
        ['opening', 'EUR', '', '997.51'],
        ['line', 'EUR', customer.id, '997.62'],
        ['closing', 'EUR', '', '997.62'],
      ],
    )
  })

  test('each format has the same lines, and a repeated request gives the same bytes, even after more data and on another service', async () => {
    const { partnerId } = await filled()
    const to = now(service)
    const request = { kind: 'statement', currency: 'EUR', from: dayBefore(to), to } as const
    const hashes = new Map<string, string>()
    for (const format of reportFormats) {
      const { report, text } = await written(service, partnerId, { ...request, format })
      hashes.set(format, report.sha256 ?? '')
      if (format === 'jsonl') {
        const rows = text.trimEnd().split('\n')
        assert.equal(rows.length, 4)
        assert.match(rows[2] ?? '', /"amount":-2\.50,"balance":997\.51\}$/)
      }
      if (format === 'pdf') assert.match(text, /^%PDF-1\.7/)
    }
    await book(service, partnerId, [{ amount: 77n }, { amount: 1n, currency: 'GBP' }])
    const other = await createReportService({ url: service.url })
    try {
      now(other)
      for (const format of reportFormats)
        assert.equal(
          (await written(other, partnerId, { ...request, format })).report.sha256,
          hashes.get(format),
          format,
        )
    } finally {
      await other.close()
    }
  })

  /** Lines of a payout, of its fee, of a payout of a file, of a deposit, and of no transaction. */
  async function filledWithPayments() {
    const partner = await addPartner(service, 1_000_00n)
    const { partnerId, caller, customer } = partner
    const from = now(service)
    await pay(service, partner, '1.00', { reference: 'Rent' })
    const payment = { minor: 2_00n, endToEndId: 'A/1', text: 'Rent' }
    const document = pain001Text('M1', [payment], { createdAt: service.clock.now() })
    const file = { mode: 'AllOrNothing', idempotencyKey: 'file', customerId: customer.id, document } as const
    await service.bulkPayouts.createFromFile(caller, file, '203.0.113.7')
    while ((await service.bulkPayouts.step()) > 0);
    const { data } = await service.transactions.list(partnerId, { endToEndId: 'A/1' })
    const [second] = data
    assert.ok(second)
    const own = (await service.transactions.get(partnerId, 'Rent')).row.endToEndId ?? ''
    const debtor = { accountHolderName: 'Ada <Lovelace>', iban: 'NL91ABNA0417164300' }
    const deposit = await service.simulations.deposit(
      caller,
      { customerId: customer.id, currency: 'EUR', outcome: 'completed', amount: 3 } as never,
      '203.0.113.7',
    )
    await service.db
      .run(sql`update transactions.transactions set debtor = ${JSON.stringify(debtor)}::json, end_to_end_id = '=E'
    where partner_id = ${partnerId} and reference = ${deposit.reference}`)
    const sent = { from: 'balance', to: 'settlement.bank' } as const
    await book(service, partnerId, [
      { amount: 1_00n, ...sent, reference: 'Rent' },
      { amount: 10n, from: 'balance', to: 'fees', reference: 'Rent' },
      { amount: 2_00n, ...sent, reference: second.row.reference },
      { amount: 3n, reference: deposit.reference },
      { amount: 4n, reference: 'unknown' },
    ])
    const request = { kind: 'statement', currency: 'EUR', from, to: now(service) } as const
    return { partnerId, own, second: second.row.reference, deposit: deposit.reference, debtor, request }
  }

  test("statement lines show the counterparty, its account, the end-to-end id and the partner's own reference", async () => {
    const { partnerId, own, second, request } = await filledWithPayments()
    const csv = rowsOf((await written(service, partnerId, { ...request, format: 'csv' })).text)
    const names = ['endToEndId', 'userReference', 'counterpartyName', 'counterpartyAccount'] as const
    assert.deepEqual(
      csv.filter(({ record }) => record === 'line').map((row) => names.map((name) => row[name])),
      [
        [own, 'Rent', 'Grace Hopper', 'DE89370400440532013000'],
        [own, 'Rent', '', ''],
        ['A/1', 'Rent', 'Grace Hopper', 'DE89370400440532013000'],
        ["'=E", '', 'Ada <Lovelace>', 'NL91ABNA0417164300'],
        ['', '', '', ''],
      ],
    )
    const lines = (await written(service, partnerId, { ...request, format: 'jsonl' })).text.trimEnd().split('\n')
    assert.match(lines[3] ?? '', /"endToEndId":"A\/1","userReference":"Rent","counterpartyName":"Grace Hopper"/)
    const { text } = await written(service, partnerId, { ...request, format: 'camt.053' })
    assert.deepEqual(await statementErrors(text), [])
    const ofFile = `<Refs><EndToEndId>A/1</EndToEndId><AcctOwnrTxId>Rent</AcctOwnrTxId><AcctSvcrTxId>${second}</AcctSvcrTxId></Refs>`
    assert.ok(text.includes(ofFile), text)
    const grace =
      '<Pty><Nm>Grace Hopper</Nm></Pty></Cdtr><CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></CdtrAcct>'
    assert.equal(text.split(`<RltdPties><Cdtr>${grace}</RltdPties>`).length, 3)
    assert.ok(text.includes('<RltdPties><Dbtr><Pty><Nm>Ada &lt;Lovelace&gt;</Nm></Pty></Dbtr><DbtrAcct><Id><IBAN>NL91'))
  })

  test('a PDF contains the same names and ids: a change of any of them changes its bytes', async () => {
    const { partnerId, deposit, debtor, request } = await filledWithPayments()
    const pdf = await written(service, partnerId, { ...request, format: 'pdf' })
    const hashes = new Set([pdf.report.sha256])
    for (const change of [
      sql`debtor = ${JSON.stringify({ ...debtor, accountHolderName: 'Joan Clarke' })}::json`,
      sql`debtor = ${JSON.stringify({ ...debtor, iban: 'FR1420041010050500013M02606' })}::json`,
      sql`end_to_end_id = 'B/2'`,
      sql`user_reference = 'Mine'`,
    ]) {
      await service.db.run(sql`update transactions.transactions set ${change}
      where partner_id = ${partnerId} and reference = ${deposit}`)
      hashes.add((await written(service, partnerId, { ...request, format: 'pdf' })).report.sha256)
    }
    assert.equal(hashes.size, 5)
  })

  test('a text that a spreadsheet would run as a formula is escaped, and numbers are unchanged', async () => {
    const { partnerId } = await addPartner(service)
    const references = ['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '"=1"', '＝1', 'a,b', 'say "x"', 'plain=1']
    await book(
      service,
      partnerId,
      references
        .map((reference) => ({ amount: 1n, from: 'balance', to: 'fees', reference }))
        .map((each, index) => ({
          ...each,
          ...(index === 0 ? { amount: 100n, from: 'settlement.bank', to: 'balance' } : {}),
        })) as Parameters<typeof book>[2],
    )
    const to = now(service)
    const { text } = await written(service, partnerId, { kind: 'statement', format: 'csv', from: dayBefore(to), to })
    const lines = rowsOf(text).filter(({ record }) => record === 'line')
    assert.deepEqual(
      lines.map(({ reference }) => reference),
      ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "' =1", `'"=1"`, "'＝1", 'a,b', 'say "x"', 'plain=1'],
    )
    assert.deepEqual(new Set(lines.slice(1).map(({ amount }) => amount)), new Set(['-0.01']))
  })

  test('a statement of fees leaves out written-off cases and charges of banks', async () => {
    const { partnerId } = await filled()
    await book(service, partnerId, [
      { amount: 49_89n, from: 'settlement.bank', to: 'suspense' },
      { amount: 49_89n, from: 'suspense', to: 'fees' },
      { amount: 1_00n, from: 'fees', to: 'suspense' },
      { amount: 50n, from: 'fees', to: 'balance', reference: 'REFUND' },
      { amount: 9n, from: 'suspense', to: 'fees', currency: 'GBP' },
    ])
    const to = now(service)
    const { text } = await written(service, partnerId, { kind: 'fees', format: 'csv', from: dayBefore(to), to })
    assert.deepEqual(
      rowsOf(text).map(({ record, currency, text: what, count, amount }) => [record, currency, what, count, amount]),
      [
        ['line', 'EUR', 'Fee', '1', '2.50'],
        ['line', 'EUR', 'Fee refunded', '1', '-0.50'],
        ['day', 'EUR', '', '2', '2.00'],
        ['total', 'EUR', '', '2', '2.00'],
      ],
    )
    const pdf = await written(service, partnerId, {
      kind: 'fees',
      format: 'pdf',
      currency: 'EUR',
      from: dayBefore(to),
      to,
    })
    assert.equal(pdf.report.rows, 2n)
  })

  test('reports of an empty period and of ten years are written', async () => {
    const { partnerId } = await filled()
    const to = now(service)
    const long = { from: new Date(to.getTime() - 3652 * 86_400_000), to }
    const early = { from: new Date('2001-01-01T00:00:00Z'), to: new Date('2001-01-02T00:00:00Z') }
    for (const [period, rows] of [
      [long, 4n],
      [early, 2n],
    ] as const)
      for (const format of reportFormats) {
        const { report } = await written(service, partnerId, { kind: 'statement', format, currency: 'EUR', ...period })
        const lines = format === 'pdf' || format.startsWith('camt.053')
        assert.equal(report.rows, lines ? rows - 2n : rows, format)
      }
    const none = await written(service, partnerId, { kind: 'transactions', format: 'jsonl', ...early })
    assert.deepEqual([none.report.rows, none.text], [0n, ''])
  })

  test('fees have a line each, and totals by day and currency', async () => {
    const { partnerId } = await filled()
    await book(service, partnerId, [{ amount: 50n, from: 'balance', to: 'fees' }])
    const to = now(service)
    const request = { kind: 'fees', from: dayBefore(to), to } as const
    const rows = rowsOf((await written(service, partnerId, { ...request, format: 'csv' })).text)
    assert.deepEqual(
      rows.map(({ record, currency, count, amount }) => [record, currency, count, amount]),
      [
        ['line', 'EUR', '1', '2.50'],
        ['line', 'EUR', '1', '0.50'],
        ['day', 'EUR', '2', '3.00'],
        ['total', 'EUR', '2', '3.00'],
      ],
    )
    assert.match((await written(service, partnerId, { ...request, format: 'pdf' })).text, /^%PDF/)
  })

  test('transactions have their status at the end of the period, even if they ended later', async () => {
    const partner = await addPartner(service, 100_000n)
    const { partnerId, customer } = partner
    const from = dayBefore(now(service))
    const deposit = { customerId: customer.id, currency: 'EUR', outcome: 'completed' } as const
    const { reference } = await service.simulations.deposit(
      partner.caller,
      { ...deposit, amount: 5 } as never,
      '203.0.113.7',
    )
    service.clock.advance(1)
    const to = service.clock.now()
    const request = { kind: 'transactions', format: 'jsonl', from, to, customerId: customer.id } as const
    const before = await written(service, partnerId, request)
    const [line] = before.text.trimEnd().split('\n')
    const pending = JSON.parse(line ?? '{}') as Record<string, unknown>
    assert.deepEqual(
      [pending['reference'], pending['status'], pending['debtorDetails']],
      [reference, 'Pending', undefined],
    )
    assert.match(line ?? '', /"amount":5\.00,/)
    await service.db.run(sql`update transactions.transactions set status = 'Completed', debtor = '{"iban":"X"}',
      timeline = timeline || ${JSON.stringify([{ step: 'Credited', status: 'Completed', createdAt: new Date(to.getTime() + 5).toISOString() }])}::jsonb
    where partner_id = ${partnerId} and reference = ${reference}`)
    assert.equal((await written(service, partnerId, request)).report.sha256, before.report.sha256)
    const later = await written(service, partnerId, { ...request, to: now(service) })
    assert.match(later.text, /"status":"Completed"/)
    const csv = await written(service, partnerId, { ...request, format: 'csv' })
    assert.equal(rowsOf(csv.text)[0]?.['status'], 'Pending')
  })

  test('a reconciliation lists each difference', async () => {
    const { partnerId } = await filled()
    await book(service, partnerId, [{ amount: 123n, to: 'suspense' }])
    const to = now(service)
    const request = { kind: 'reconciliation', format: 'csv', from: dayBefore(to), to } as const
    const rows = rowsOf((await written(service, partnerId, request)).text)
    const differences = rows.filter(({ record }) => record === 'difference')
    assert.deepEqual(
      differences.map(({ currency, name, expected, found, difference }) => [
        currency,
        name,
        expected,
        found,
        difference,
      ]),
      [['EUR', 'suspense = open cases', '0.00', '1.23', '1.23']],
    )
    const balance = rows.find(
      ({ record, name, currency }) => record === 'account' && name === 'balance' && currency === 'EUR',
    )
    assert.deepEqual(
      ['opening', 'credits', 'debits', 'closing', 'reserved'].map((name) => balance?.[name]),
      ['0.00', '1000.01', '2.50', '997.51', '0.00'],
    )
    assert.ok(rows.some(({ record, name }) => record === 'check' && name === 'all accounts add up to zero'))
  })

  test('a reconciliation lists the payments that are at banks, also those sent before the period', async () => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId } = partner
    const { payout } = await pay(service, partner, '4001.07')
    await submitDuePayouts(service.settlement)
    service.clock.advance(2 * dayMs)
    const to = now(service)
    const rowsAt = async (from: Date, end: Date) =>
      rowsOf((await written(service, partnerId, { kind: 'reconciliation', format: 'csv', from, to: end })).text)
        .filter(({ record }) => record === 'in_flight')
        .map(({ currency, count, amount, since }) => [currency, count, amount, since])
    assert.deepEqual(await rowsAt(dayBefore(to), to), [['EUR', '1', '4001.07', payout.createdAt.toISOString()]])
  })
})

suite('camt.053', async () => {
  const service = untilEnd(await createReportService())

  const name = `Łódź & <Söhne> \u202e\uffff ${'ж'.repeat(70)}`
  const odd = `</Ustrd><x>&"'\u{1f600}`

  async function statement(format: 'camt.053' | 'camt.053.001.02') {
    const { partnerId, customer } = await addPartner(service)
    await book(service, partnerId, [
      { amount: 100_001n, partyId: customer.id, reference: 'INV-1' },
      { amount: 250n, from: 'balance', to: 'fees', partyId: customer.id, reference: 'INV-1' },
      { amount: 5n, reference: odd },
      { amount: 6n, reference: 'x'.repeat(140) },
    ])
    await service.db.run(sql`update access.partners set name = ${name} where id = ${partnerId}`)
    const to = now(service)
    return written(service, partnerId, { kind: 'statement', format, currency: 'EUR', from: dayBefore(to), to })
  }

  async function readBack(text: string) {
    const parts = (await Array.fromAsync(readAccountReport(Readable.from([Buffer.from(text)])))).flat()
    return {
      versions: parts.flatMap((part) => (part.kind === 'head' ? part.head.version : [])),
      balances: parts.flatMap((part) =>
        part.kind === 'statement' ? part.statement.balances.map(({ amount }) => amount.minor) : [],
      ),
      entries: parts.flatMap((part) => (part.kind === 'entry' ? part.entry : [])),
    }
  }

  test('a camt.053 is valid by the schema, whatever the names contain', async () => {
    const { text, report } = await statement('camt.053')
    assert.deepEqual(await statementErrors(text), [])
    assert.equal((await statementErrors(text.replace('<Cd>BOOK</Cd>', '<Cd>PDNG</Cd>'))).length, 1)
    assert.equal(report.rows, 4n)
    assert.equal(text.match(/<Ntry>/g)?.length, 4)
    assert.match(text, /<EndToEndId>NOTPROVIDED<\/EndToEndId><AcctSvcrTxId>&lt;\/Ustrd&gt;&lt;x&gt;&amp;"'/)
    assert.match(text, /<EndToEndId>NOTPROVIDED<\/EndToEndId><\/Refs>/)
    const net = '<TtlNetNtry><Amt>997.62</Amt><CdtDbtInd>CRDT</CdtDbtInd></TtlNetNtry>'
    assert.ok(text.includes(`<TtlNtries><NbOfNtries>4</NbOfNtries><Sum>1002.62</Sum>${net}</TtlNtries>`), text)
  })

  test('version 02 has its own elements: sums, states, references and names', async () => {
    const { text, content } = await statement('camt.053.001.02')
    assert.match(content.fileName, /\.camt\.053\.001\.02\.xml$/)
    assert.match(text, /<Sts>BOOK<\/Sts>/)
    assert.match(
      text,
      /<Refs><AcctSvcrRef>&lt;\/Ustrd&gt;&lt;x&gt;&amp;"'[^<]*<\/AcctSvcrRef><EndToEndId>NOTPROVIDED<\/EndToEndId><\/Refs>/,
    )
    const net = '<TtlNetNtryAmt>997.62</TtlNetNtryAmt><CdtDbtInd>CRDT</CdtDbtInd>'
    assert.ok(text.includes(`<TtlNtries><NbOfNtries>4</NbOfNtries><Sum>1002.62</Sum>${net}</TtlNtries>`), text)
  })

  test('both versions have the same content for a reader of bank statements', async () => {
    for (const [format, version] of [
      ['camt.053', '08'],
      ['camt.053.001.02', '02'],
    ] as const) {
      const { versions, balances, entries } = await readBack((await statement(format)).text)
      assert.deepEqual([versions, balances], [[version], [0n, 997_62n]], format)
      assert.deepEqual(
        entries.map(({ amount, isCredit }) => [amount.minor, isCredit]),
        [
          [1000_01n, true],
          [2_50n, false],
          [5n, true],
          [6n, true],
        ],
        format,
      )
    }
  })
})

suite('brand', async () => {
  const service = untilEnd(await createReportService())

  /** The bytes of the same empty statement, with the branding that is given. */
  async function statementWith(branding: Parameters<Service['checkout']['setBranding']>[1] | undefined) {
    const { partnerId } = await addPartner(service)
    if (branding !== undefined) await service.checkout.setBranding(partnerId, branding)
    const to = now(service)
    const period = { from: dayBefore(to), to }
    const request = { kind: 'statement', format: 'pdf', currency: 'EUR', ...period } as const
    const files = [await written(service, partnerId, request), await written(service, partnerId, request)]
    assert.equal(new Set(files.map(({ report }) => report.sha256)).size, 1, 'the same input gives the same bytes')
    return files[0]?.text ?? ''
  }
  const hasImage = (pdf: string) => pdf.includes('/Subtype /Image')

  test('a statement has the logo of the partner, with and without transparency', async () => {
    assert.equal(hasImage(await statementWith(undefined)), false)
    for (const logo of [png(400, 40), png(20, 300, { alpha: true })])
      assert.equal(
        hasImage(await statementWith({ name: 'Grace', accentColour: '#7a1f3d', logo: logo.toString('base64') })),
        true,
      )
  })

  test('a logo that cannot be drawn is left out, and the report is ready', async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9v9z"/></svg>')
    const notCompressed = png(4, 4, { alpha: true, pixels: Buffer.from('no pixels') })
    const tooShort = png(4, 4, { alpha: true, pixels: deflateSync(Buffer.alloc(3)) })
    const unknownFilter = png(1, 1, { pixels: deflateSync(Buffer.from([9, 0, 0, 0])) })
    for (const logo of [svg, notCompressed, tooShort, unknownFilter])
      assert.equal(hasImage(await statementWith({ name: 'Grace', logo: logo.toString('base64') })), false)
  })
})
