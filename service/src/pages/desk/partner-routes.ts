/** The routes of partners: lists by the commands that read, and forms that run the commands that change. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import { partnerPage, type PartnerRow, partnersPage, type ShownSection } from './partner-pages.ts'
import { type Section, sections } from './partner-sections.ts'
import { type DeskFrame, noteOf, type Person, staffRoute } from './request.ts'

const partnersShown = 50
/** More rows of one kind are read by the command. */
const rowsShown = 200

export const partnerRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  ...listRoutes(frame),
  staffRoute(frame, 'partners', 'GET', '/partners/{id}', (request, person) => show(frame, request, person)),
  staffRoute(frame, 'partners', 'POST', '/partners/{id}/change', (request, person) => change(frame, request, person)),
]

const listRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'GET', '/partners', async (request, { view }) => {
    const after = new URLSearchParams(request.query).get('after')
    const from = after !== null && uuid.test(after) ? after : null
    const rows = await frame.partners.page(frame.db, from, partnersShown + 1)
    const partners = rows.slice(0, partnersShown)
    const next = rows.length > partnersShown ? `partners?after=${partners.at(-1)?.id ?? ''}` : undefined
    return page(request, 200, partnersPage(view, { partners, next }))
  }),
  staffRoute(frame, 'partners', 'GET', '/partners/find', (request) => {
    const id = new URLSearchParams(request.query).get('id')?.trim().toLowerCase() ?? ''
    if (!uuid.test(id)) throw notFound('partner')
    return seeOther(id)
  }),
]

async function find({ db, partners }: DeskFrame, { params }: PublicRequest): Promise<PartnerRow> {
  const { id = '' } = params
  const found = uuid.test(id) ? await partners.byId(db, id) : undefined
  if (found === undefined) throw notFound('partner')
  return found
}

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  { error, refused, form }: { readonly error?: string; readonly refused?: string; readonly form?: Form } = {},
): Promise<PublicAnswer> {
  const { changes } = frame
  const partner = await find(frame, request)
  const { role } = signed.account
  const shown = await Promise.all(
    sections.map(async (section): Promise<ShownSection> => {
      const rows = (await changes.read(section.list, { partner: partner.id })) as ShownSection['rows']
      const commands = [...section.changes.map(({ command }) => command), section.removal?.command ?? []].flat()
      const may = new Set(commands.filter((command) => changes.mayDecide(command, role)))
      return { section, rows: rows.slice(0, rowsShown), may }
    }),
  )
  const query = new URLSearchParams(request.query)
  const said = query.has('waits') ? 'waits' : query.has('done') ? 'done' : undefined
  const content = { partner, sections: shown, said, error, refused, typed: form ?? (() => '') } as const
  return page(request, error === undefined ? 200 : 400, partnerPage(view, content))
}

async function change(frame: DeskFrame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, signed } = person
  const partner = await find(frame, request)
  if (signed.session.rested) return seeOther(`${view.root}sign-in`)
  const form = readForm(request)
  const command = form('command')
  const options = { ...optionsOf(command, form), partner: partner.id }
  try {
    const { waits } = await frame.changes.run(signed.account, command, { ...options, note: noteOf(form) })
    return seeOther(`../${partner.id}?${waits === undefined ? 'done' : 'waits'}`)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
    return show(frame, request, person, { error: error.detail, refused: command, form })
  }
}

/** The options that the section of a command has. Only commands of sections are run. Refuses: not_found. */
function optionsOf(command: string, form: Form): Readonly<Record<string, string>> {
  const names = sections.flatMap((section: Section) => [
    ...section.changes
      .filter((change) => change.command === command)
      .flatMap(({ fields }) => fields.map(({ option }) => option)),
    ...(section.removal?.command === command ? [section.removal.option] : []),
  ])
  if (names.length === 0) throw notFound('change')
  return Object.fromEntries(names.map((name) => [name, form(name).trim()] as const).filter(([, value]) => value !== ''))
}
