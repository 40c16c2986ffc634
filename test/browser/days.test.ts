/**
 * Working days of people in a real browser, over a month of data: finance pays and finds, a colleague approves,
 * compliance decides an alert and a hit, support follows a customer to a payment, a payer pays a shop, which decides
 * about late money. Each day prints the cost of its tasks. No task may hit a dead end: a URL without a link to it, an
 * error, or a text meant for programs.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Page } from 'playwright-core'
import { consoleTexts } from '../../service/src/pages/kit/language.ts'
import { texts } from '../../service/src/pages/console/texts/index.ts'
import { deskTexts } from '../../service/src/pages/desk/texts.ts'
import { fill, texts as payerTexts } from '../../service/src/pages/language.ts'
import { noBrowser as skip } from '../support/browser.ts'
import { addAuthenticator, inviteTo, joinByPasskey, openPage, siteOf, useBrowser } from '../support/console.ts'
import { listAt, success, textAt } from '../support/client.ts'
import { costTable, createDay, type Day, type PersonActions } from '../support/day.ts'
import { joinDesk } from '../support/desk.ts'
import { useService } from '../support/fixture.ts'
import { makeMonth } from '../support/month.ts'
import { takesAll } from '../support/share.ts'
import { staffAtDesk } from '../support/staff.ts'
import { until } from '../support/until.ts'

const languages = ['en', 'de'] as const
type Language = (typeof languages)[number]
type Form = { readonly language: Language; readonly width: number }
/** Variants: both languages and both widths. A run of all shares covers all four. */
const forms: readonly Form[] = takesAll
  ? languages.flatMap((language) => [1280, 390].map((width) => ({ language, width })))
  : [
      { language: 'en', width: 1280 },
      { language: 'de', width: 390 },
    ]

const browser = useBrowser()
const service = await useService({ env: { SANDBOX_BANK_DELAY_MS: '0' } })
const site = siteOf(service)
const deskSite = service.opsUrl.replace('127.0.0.1', 'localhost')
const month = skip === false ? await makeMonth(service, takesAll ? 10_000 : 300) : undefined
await service.operator(
  ...['approval', 'set', '--partner', service.credentials.partnerId, '--currency', 'EUR', '--above', '9000.00'],
  ...['--staff', 'Sam', '--note', 'two persons'],
)
const { as } = await staffAtDesk(
  { opsUrl: deskSite, env: service.env, folder: service.dataDir },
  { name: 'Rosa', role: 'admin' },
)

/** Sets language and width of the pages. */
async function show(page: Page, root: string, { language, width }: Form): Promise<void> {
  page.setDefaultTimeout(15_000)
  await page.setViewportSize({ width, height: 844 })
  await page.goto(`${root}/language/${language}`)
}

async function atConsole(form: Form, role: 'Admin' | 'Operator', name: string) {
  const opened = await openPage(await browser(), site, {}, ['400', '409'])
  await addAuthenticator(opened.context, opened.page)
  await joinByPasskey(service, opened.page, await inviteTo(service, role, name))
  await show(opened.page, `${site}/console`, form)
  return { ...opened, day: createDay(opened.page, consoleTexts[form.language]) }
}

async function atDesk(form: Form, role: string, name: string) {
  const opened = await joinDesk({ service, browser: await browser(), site: deskSite, as }, name, role, ['400', '409'])
  await show(opened.page, `${deskSite}/desk`, form)
  return { ...opened, day: createDay(opened.page, consoleTexts[form.language]) }
}

/** Opens the page of a payer, who has only the link that the shop sent. */
async function atShop({ language, width }: Form) {
  const viewport = { width, height: 844 }
  const opened = await openPage(await browser(), site, { locale: language, viewport }, ['400', '409'])
  opened.page.setDefaultTimeout(15_000)
  return { ...opened, day: createDay(opened.page, consoleTexts[language]) }
}

/** Simulates money for a session from an account of its payer. */
const credit = async (sessionId: string, amount?: number) =>
  success(
    await service.client.post(`/v1/simulations/checkout/sessions/${sessionId}`, {
      ...{ step: 'credit', debtorName: 'Paula Payer' },
      ...(amount !== undefined && { amount }),
    }),
  )

/** Fails with the dead ends of a day, and prints its costs. */
function judge(person: string, { costs }: Day): void {
  console.log(costTable(person, costs()))
  assert.deepEqual(
    costs().flatMap(({ job, deadEnds }) => deadEnds.map((end) => `${job}: ${end}`)),
    [],
  )
}

const formName = ({ language, width }: Form): string => `${language}, ${width} px`

for (const [nth, form] of forms.entries())
  suite(`a day in ${formName(form)}`, { skip, concurrency: false }, () => {
    const { language } = form
    const t = consoleTexts[language]
    const p = texts[language].payments
    const s = texts[language].sending
    const b = texts[language].bulk
    const c = deskTexts[language]
    const payee = month?.payees[nth + 1] ?? { id: '', name: '', iban: '' }
    const sum = (amount: string) =>
      language === 'de' ? amount.replaceAll(/[,.]/g, (mark) => (mark === ',' ? '.' : ',')) : amount
    const invoice = `RE-${formName(form)}`

    test('finance pays an invoice, is warned of a second payment, pays thirty by a file, and finds a payment', async () => {
      const fiona = await atConsole(form, 'Operator', `Fiona ${nth}`)
      const { job } = fiona.day
      const pay = async ({ follow, type, press }: Day['hands'], amount: string) => {
        await follow(t.payouts, 'nav')
        await follow(p.newPayout)
        await type(p.searchPayee, payee.name)
        await press(t.applyFilters)
        await follow(`${p.pay} ${payee.name}`)
        await type(fill(p.payoutAmount, { currency: 'EUR' }), amount)
        await type(p.payoutReference, invoice)
        await press(p.preview)
      }
      await job('pay an invoice', async (hands) => {
        await pay(hands, '123.45')
        await hands.press(/123[.,]45/)
        await hands.sees(invoice)
      })
      await job('pay it again by mistake, and stop', async (hands) => {
        await pay(hands, '123.45')
        await hands.sees(s.repeatsTitle)
        await hands.follow(invoice)
        await hands.sees(payee.name)
      })
      await job('pay thirty invoices by a file', async ({ follow, upload, press, sees, type }) => {
        await follow(t.bulkPayouts, 'nav')
        await follow(b.newBulk)
        const lines = Array.from({ length: 30 }, (_none, index) => {
          const { name, iban } = month?.payees[index % month.payees.length] ?? payee
          return `${name};${index === 17 ? 'DE00' : iban};${100 + index + nth * 1000},50;EUR;${invoice}-${index};`
        })
        const header = 'Name;IBAN;Betrag;Währung;Verwendungszweck;Gespeicherter Empfänger'
        await upload(b.file, 'rechnungen.csv', Buffer.from(`${[header, ...lines].join('\r\n')}\r\n`, 'latin1'))
        await press(b.check)
        await sees(fill(b.wrongTitle, { count: '1' }))
        await type('IBAN', month?.payees[17 % month.payees.length]?.iban ?? '')
        await press(b.saveAgain)
        await press(fill(b.send, { count: '30' }))
        await sees(b.created)
      })
      await job('find a payment by its amount', async ({ find, sees }) => {
        await find(sum('123.45'))
        await sees(invoice)
      })
      judge(`Fiona, finance (${formName(form)})`, fiona.day)
    })

    test('a colleague sees the requester and the invoice, and approves', async () => {
      const fiona = await atConsole(form, 'Operator', `Felix ${nth}`)
      await fiona.day.job('ask', async ({ follow, type, press }) => {
        await follow(t.payouts, 'nav')
        await follow(p.newPayout)
        await type(p.searchPayee, payee.name)
        await press(t.applyFilters)
        await follow(`${p.pay} ${payee.name}`)
        await type(fill(p.payoutAmount, { currency: 'EUR' }), '9500.00')
        await type(p.payoutReference, `${invoice}-A`)
        await press(p.preview)
        await press(/9[.,]500/)
      })
      const oscar = await atConsole(form, 'Operator', `Oscar ${nth}`)
      await oscar.day.job('approve what waits', async ({ follow, press, sees }) => {
        await follow(t.home, 'nav')
        await follow(new RegExp(t.payoutsToApprove))
        await follow(payee.name)
        await follow(p.review)
        await sees(`${invoice}-A`)
        await press(/9[.,]500/)
        await sees(s.approved)
      })
      judge(`Oscar, approver (${formName(form)})`, oscar.day)
    })

    test('compliance decides an alert and a hit, and reads the figures', async () => {
      const [cora, carl] = [
        await atDesk(form, 'compliance', `Cora${nth}`),
        await atDesk(form, 'compliance', `Carl${nth}`),
      ]
      /** Returns a pattern for the button label of an alert, which contains the number of payouts that it holds. */
      const refusing = (around = '{verb}') =>
        new RegExp(fill(around, { verb: `(?:${fill(c.verbs.refuse, { payouts: '.+' })}|${c.verbs.refuseOne})` }))
      let address = ''
      await cora.day.job('refuse the payout of an alert', async ({ follow, choose, type, press, sees, page }) => {
        await follow(deskTexts[language].queue.queue, 'nav')
        // Of many kinds the oldest fill the first page.
        await choose(deskTexts[language].filters.kind, 'monitoring_alert')
        await press(t.applyFilters)
        await follow(c.kindNames.monitoring_alert)
        address = page.url()
        await follow(refusing())
        await choose(deskTexts[language].options.disposition, 'fraud')
        await type(c.cases.note, 'The customer does not know the payee')
        await press(refusing(c.cases.proposeTo))
        await sees(refusing(c.cases.saidProposed))
      })
      await carl.day.job('approve it as the second person', async ({ follow, press, sees, page }) => {
        await follow(deskTexts[language].queue.queue, 'nav')
        await page.goto(address)
        await press(refusing(c.cases.approve))
        await sees(fill(c.cases.saidApproved, { effect: '' }).trim())
      })
      await cora.day.job('clear a hit', async ({ follow, tick, choose, type, press }) => {
        await follow(deskTexts[language].hits.hits, 'nav')
        await follow('Borislav Tremurov')
        await tick(deskTexts[language].hits.clear)
        await choose(deskTexts[language].options.disposition, 'birth_differs')
        await type(deskTexts[language].hits.note, 'Another date of birth')
        await press(deskTexts[language].hits.decide)
      })
      judge(`Cora, compliance (${formName(form)})`, cora.day)
      judge(`Carl, compliance (${formName(form)})`, carl.day)
    })

    test('support follows a customer to the payment and back', async () => {
      const sam = await atDesk(form, 'support', `Sam${nth}`)
      await sam.day.job('find a customer and its payments', async ({ follow, type, press, sees, page }) => {
        await follow(deskTexts[language].find.title, 'nav')
        await type(deskTexts[language].find.label, 'K-1003')
        await press(deskTexts[language].find.find)
        await page.locator('main table a').first().click()
        await sees('K-1003')
      })
      judge(`Sam, support (${formName(form)})`, sam.day)
    })

    test('a payer pays a link, another payment late and a third in parts, and the shop decides about the late money', async () => {
      const k = texts[language].checkout
      const r = texts[language].refunds
      const x = payerTexts[language]
      const description = `Ticket ${formName(form)}`
      const shop = await atConsole(form, 'Operator', `Shirin ${nth}`)
      const payer = await atShop(form)
      const linkOn = async ({ page }: PersonActions) => {
        const { pathname } = new URL((await page.locator('main pre code').first().innerText()).trim())
        return `${site}${pathname}`
      }
      const sessions = async () => listAt(success(await service.client.get('/v1/checkout/sessions?limit=100')))
      const newest = async () => (await sessions())[0] ?? assert.fail('no session')
      /** Signs in at the sandbox bank and approves, then waits until the page shows that the money has arrived. */
      const payAtBank = async ({ type, press, sees }: PersonActions) => {
        await press(x.withBank)
        await type(x.yourName, 'Paula Payer')
        await press(x.signIn)
        await press(x.approve)
        await sees(x.completed)
      }

      /** Returns a pattern for labels that begin with a text. Other labels contain the text further on. */
      const named = (label: string) => new RegExp(`^${label}`)
      let link = ''
      await shop.day.job('make a payment link', async (hands) => {
        const { follow, type, press, sees } = hands
        await follow(t.checkout, 'nav')
        await follow(k.links.open)
        await follow(k.links.create)
        await type(named(p.customer), month?.customers[nth] ?? '')
        await type(named(k.description), description)
        await type(named(p.currency), 'EUR')
        await type(named(p.amount), '25.00')
        await press(k.links.submit)
        await sees(k.links.done.created)
        link = await linkOn(hands)
      })
      await payer.day.job('pay by the link, and read the receipt', async (hands) => {
        const { page, type, press, follow, sees } = hands
        await page.goto(link)
        await sees(description)
        await type(x.payerName, 'Paula Payer')
        await press(x.linkPay)
        await payAtBank(hands)
        await follow(x.receipt)
        await sees(/25[.,]00/)
        await sees(x.paidOn)
      })
      await payer.day.job('open the link again, and pay late', async ({ page, type, press, sees }) => {
        await page.goto(link)
        await type(x.payerName, 'Paula Payer')
        await press(x.linkPay)
        await sees(x.byTransfer)
        const { sessionId } = await newest()
        success(await service.client.post(`/v1/checkout/sessions/${String(sessionId)}/expire`))
        await sees(x.expired)
        await credit(String(sessionId))
        await until('the late money has arrived', async () => 'latePayments' in (await newest()))
        await page.reload()
        await sees(/25[.,]00.* Sandbox Partner/)
      })
      const late = await newest()
      await shop.day.job('find the late money, and accept it', async ({ follow, choose, press, sees }) => {
        await follow(t.checkout, 'nav')
        await choose(k.late.filter, 'true')
        await choose(p.status, 'Expired')
        await press(t.applyFilters)
        await sees(k.late.waits)
        await follow(textAt(late, 'creditorReference'))
        await press(new RegExp(fill(k.late.acceptLabel, { sum: '25[.,]00.+' })))
        await press(k.late.accept, 'main dialog:popover-open')
        await sees(k.late.accepted)
      })
      await payer.day.job('read what became of the late money', async ({ page, sees }) => {
        await page.reload()
        await sees(new RegExp(fill(x.lateAccepted, { payee: '.+', amount: '.*25[.,]00.*' })))
      })
      await shop.day.job('send a part of the late money back', async ({ unfold, type, press, sees }) => {
        await unfold(r.refund)
        await type(fill(r.amount, { currency: 'EUR' }), '10.00')
        await press(r.preview)
        await sees('Paula Payer')
        await press(new RegExp(fill(r.send, { amount: '10[.,]00.+' })))
        await sees(r.created)
        await sees(r.ofLate)
      })
      await shop.day.job('find the payer by the name', async ({ find, sees }) => {
        await find('payer')
        await sees('Paula Payer')
      })
      await shop.day.job('ask for a payment in parts', async (hands) => {
        const { follow, type, choose, press, sees } = hands
        await follow(t.checkout, 'nav')
        await follow(k.newSession)
        await type(named(p.amount), '49.90')
        await type(named(p.currency), 'EUR')
        await type(named(k.email), `paula${nth}@example.com`)
        await choose(k.payments, 'true')
        await press(k.create)
        await sees(k.created)
        link = await linkOn(hands)
      })
      await payer.day.job('pay in two parts, and read the receipt', async (hands) => {
        const { page, follow, sees } = hands
        await page.goto(link)
        await sees(x.byPartsText)
        await credit(textAt(await newest(), 'sessionId'), 20)
        await sees(new RegExp(fill(x.paidSoFar, { paid: '.*20[.,]00.*', amount: '.*49[.,]90.*' })))
        await payAtBank(hands)
        await follow(x.receipt)
        await sees(x.parts)
        await sees(/29[.,]90/)
      })
      judge(`Shirin, shop (${formName(form)})`, shop.day)
      judge(`Paula, payer (${formName(form)})`, payer.day)
    })
  })
