import { writeFileSync } from 'node:fs'
import { accountPdf } from '/work/w17-reports/service/src/typesetting/index.ts'
const n = Number(process.argv[2] ?? 120)
const t = performance.now()
const chunks: Uint8Array[] = []
let bal = 1000000
for await (const b of accountPdf({
  title: 'Account statement',
  issuer: 'Łódź Šiauliai ė ж Παρτner GmbH <b>',
  createdAt: new Date('2026-02-01T00:00:00Z'),
  tagged: n <= 2000,
  facts: [
    ['Account holder', 'Zażółć gęślą jaźń, Ślęża & Ħaż'],
    ['Account', '01a205f7-13fb-7377-91c7-553e4ee38be5'],
    ['Currency', 'EUR'],
    ['Period', '1 Jan 2026 00:00 UTC to 1 Feb 2026 00:00 UTC'],
  ],
  note: 'All times are in UTC. The period contains its start and not its end. Every amount is as booked in the ledger; a movement after the end of the period is in the next statement.',
  sections: [
    {
      heading: 'Balance in EUR',
      box: [
        ['Opening balance', '10,000.00'],
        ['Money in (80)', '1,234,567.89'],
        ['Money out (40)', '−98,765.43'],
        ['Closing balance', '1,145,802.46'],
      ],
      columns: { amount: 'Amount EUR', balance: 'Balance EUR' },
      opening: ['Opening balance', '10,000.00'],
      closing: ['Closing balance', '1,145,802.46'],
      empty: 'No movement in this period.',
      rows: async function* () {
        for (let i = 0; i < n; i += 25)
          yield Array.from({ length: Math.min(25, n - i) }, (_, k) => ({
            date: `${1 + ((i + k) % 28)} Jan 2026`,
            text: (i + k) % 3 ? 'Payment received' : 'Payment sent',
            detail:
              (i + k) % 11 === 5
                ? 'A reference that is as long as one may be, with many words and a tail-of-dashes-that-has-no-blank-0123456789-0123456789-0123456789-0123456789'
                : `INV-2026-${i + k}`,
            amount: (i + k) % 3 ? '1,250.00' : '−333.10',
            balance: '123,456.78',
          }))
      },
    },
  ],
}))
  chunks.push(b)
const all = Buffer.concat(chunks)
writeFileSync('/tmp/h/17/out.pdf', all)
console.log(
  n,
  'rows',
  all.length,
  'bytes',
  (performance.now() - t).toFixed(0),
  'ms',
  (process.memoryUsage().rss / 2 ** 20).toFixed(0),
  'MiB',
  (await import('node:crypto')).hash('sha256', all),
)
