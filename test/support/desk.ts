/** People of staff in a real browser at the desk. */
import assert from 'node:assert/strict'
import type { Browser, Page } from 'playwright-core'
import { textAt } from './client.ts'
import { addAuthenticator, check, type OpenedPage, openPage, useBrowser } from './console.ts'
import { useService } from './fixture.ts'
import type { TestService } from './service.ts'
import { staffAtDesk } from './staff.ts'

/** Sends a form from the page, as a script would. Returns the status of the answer. `address`: of the form, from the page. */
export const postFrom = (page: Page, address: string, fields: Readonly<Record<string, string>>): Promise<unknown> => {
  const body = `new URLSearchParams(${JSON.stringify(fields)})`
  return page.evaluate(`fetch('${address}', { method: 'POST', body: ${body} }).then(({ status }) => status)`)
}

type PageOptions = Parameters<typeof openPage> extends [unknown, unknown, ...infer Rest] ? Rest : never

export type DeskOfTest = {
  readonly service: TestService
  readonly browser: Browser
  readonly site: string
  /** The options by which commands act for an admin. Empty while there is none. */
  readonly as: readonly string[]
}

/** Invites a person by the command, who joins with a passkey and is at the queue. `expected`: texts of failures that the test causes. */
export async function joinDesk(
  { service, browser, site, as }: DeskOfTest,
  name: string,
  role: string,
  expected: readonly string[] = [],
) {
  const email = `${name.toLowerCase()}@example.com`
  const printed = await service.operator('staff', 'invite', '--email', email, '--name', name, '--role', role, ...as)
  const opened = await openPage(browser, site, {}, expected)
  await addAuthenticator(opened.context, opened.page)
  const link = textAt(printed, 'link')
  assert.ok(link.startsWith(`${site}/desk/join?token=`), link)
  await opened.page.goto(link)
  await check(opened.page)
  await opened.page.getByRole('button', { name: 'Create passkey and join' }).click()
  await opened.page.waitForURL(`${site}/desk/queue`)
  return opened
}

/** Checks a page in both schemes, narrow and wide. */
export async function checkForms(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [360, 1280]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await check(page)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, `${width}`)
    }
}

/** The desk of a service of its own, whose first admin is Rosa. `as`: the options by which commands act for her. */
export async function useDesk(env: Readonly<Record<string, string>> = {}) {
  const browser = useBrowser()
  const service = await useService({ env })
  const site = service.opsUrl.replace('127.0.0.1', 'localhost')
  const desk = { opsUrl: site, env: service.env, folder: service.dataDir }
  const { as } = await staffAtDesk(desk, { name: 'Rosa', role: 'admin' })
  const visit = async (...given: PageOptions) => openPage(await browser(), site, ...given)
  /** A person of staff who has joined by an invitation and is at the queue. */
  const join = async (name: string, role: string, expected: readonly string[] = []) =>
    joinDesk({ service, browser: await browser(), site, as }, name, role, expected)
  /** The session of a person in a browser that prefers German. */
  const inGerman = async ({ context }: Pick<OpenedPage, 'context'>, expected?: readonly string[]) => {
    const german = await visit({ locale: 'de-DE' }, expected)
    await german.context.addCookies(await context.cookies())
    return german
  }
  return { service, site, as, visit, join, inGerman }
}
