/** A working day in a browser: does jobs as a person does, and counts what each costs. */
import type { Page } from 'playwright-core'
import { check } from './console.ts'

export type JobCost = {
  readonly job: string
  /** Links and buttons that were pressed, and choices that were made. */
  readonly clicks: number
  /** Fields that were typed in, or files that were chosen. */
  readonly fields: number
  readonly pages: number
  readonly seconds: number
  /** Addresses that the person had to type because no link led there, and pages that answered with an error. */
  readonly deadEnds: readonly string[]
}

/** Actions of a person on a page, by the names that a person reads. */
export type PersonActions = {
  readonly page: Page
  /** Follows a link. */
  readonly follow: (name: string | RegExp, within?: string) => Promise<void>
  readonly press: (name: string | RegExp, within?: string) => Promise<void>
  readonly type: (label: string | RegExp, text: string) => Promise<void>
  readonly choose: (label: string | RegExp, option: string) => Promise<void>
  readonly tick: (label: string | RegExp) => Promise<void>
  /** Opens what is folded under a summary. */
  readonly unfold: (summary: string) => Promise<void>
  readonly upload: (label: string | RegExp, name: string, text: string | Buffer) => Promise<void>
  /** Searches in the command bar. */
  readonly find: (text: string) => Promise<void>
  /** Types an address because no link leads there: a dead end. */
  readonly typeAddress: (address: string, why: string) => Promise<void>
  readonly read: () => Promise<string>
  /** Fails unless the page says it. */
  readonly sees: (text: string | RegExp) => Promise<void>
}

/** Texts that no page of finance, payers, compliance or support shows. */
const foreignTexts = [/npm run /, /POST \/v1\//, /^\s*\{"/m, /\bundefined\b/, /\[object Object\]/]

/** Counts the jobs of a person. A page that answers with an error, or shows the texts of programs, is a dead end of its job. */
export type Day = ReturnType<typeof createDay>

/** `menu`: the name of the button that opens the navigation on a narrow page. */
export function createDay(page: Page, { menu }: { readonly menu: string }) {
  const costs: JobCost[] = []
  let current = { clicks: 0, fields: 0, pages: 0, deadEnds: [] as string[] }
  page.on('response', (answer) => {
    if (answer.request().resourceType() !== 'document') return
    current.pages += answer.status() < 300 ? 1 : 0
    if (answer.status() >= 400) current.deadEnds.push(`${answer.status()} ${new URL(answer.url()).pathname}`)
  })
  const inside = (within = 'body') => page.locator(within)
  /** Waits until the page stands. A page that a script leaves is asked again. */
  const settled = async (): Promise<void> => {
    await page.waitForLoadState('load')
    await judged().catch(async () => {
      await page.waitForLoadState('networkidle')
      await judged()
    })
  }
  const judged = async () => {
    const text = await page.locator('body').innerText()
    for (const pattern of foreignTexts)
      if (pattern.test(text)) current.deadEnds.push(`${new URL(page.url()).pathname} shows ${String(pattern)}`)
    await check(page)
  }
  const hands: PersonActions = {
    page,
    follow: async (name, within) => {
      current.clicks += 1
      const opener = page.getByRole('button', { name: menu, exact: true })
      if (within === 'nav' && (await opener.isVisible())) {
        current.clicks += 1
        await opener.click()
      }
      await inside(within).getByRole('link', { name }).first().click()
      await settled()
    },
    press: async (name, within = 'main') => {
      current.clicks += 1
      await inside(within).getByRole('button', { name }).first().click()
      await settled()
    },
    type: async (label, text) => {
      current.fields += 1
      await page.getByLabel(label).first().fill(text)
    },
    choose: async (label, option) => {
      current.clicks += 1
      await page.getByLabel(label).first().selectOption(option)
    },
    tick: async (label) => {
      current.clicks += 1
      await page.getByLabel(label).first().check()
    },
    unfold: async (summary) => {
      current.clicks += 1
      await page.locator('main summary').getByText(summary).first().click()
    },
    upload: async (label, name, text) => {
      current.fields += 1
      await page
        .getByLabel(label)
        .first()
        .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
    },
    find: async (text) => {
      current.fields += 1
      await page.keyboard.press('/')
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      await page.waitForURL(/find|transactions|payouts|payees|customers|partners|cases/)
      await settled()
    },
    typeAddress: async (address, why) => {
      current.deadEnds.push(`${why}: ${address}`)
      await page.goto(address)
      await settled()
    },
    read: () => page.locator('main').innerText(),
    sees: async (text) => {
      await page.locator('main').getByText(text).first().waitFor()
    },
  }
  const job = async (name: string, act: (hands: PersonActions) => Promise<void>): Promise<void> => {
    current = { clicks: 0, fields: 0, pages: 0, deadEnds: [] }
    const started = performance.now()
    await act(hands).catch(async (error: unknown) => {
      const shown = await page.locator('main').innerText()
      throw new Error(`${name}: ${String(error)}\n${page.url()}\n${shown.slice(0, 3000)}`, { cause: error })
    })
    costs.push({ job: name, ...current, seconds: (performance.now() - started) / 1000 })
  }
  return { job, hands, costs: (): readonly JobCost[] => costs }
}

/** Prints the costs as a table of Markdown. */
export const costTable = (person: string, costs: readonly JobCost[]): string =>
  [
    `| ${person} | clicks | fields | pages | seconds | dead ends |`,
    '|---|---|---|---|---|---|',
    ...costs.map(({ job, clicks, fields, pages, seconds, deadEnds }) =>
      [``, job, clicks, fields, pages, seconds.toFixed(1), deadEnds.length, ``].join(' | ').trim(),
    ),
  ].join('\n')
