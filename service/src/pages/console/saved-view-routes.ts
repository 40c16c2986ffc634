/** The forms that save, rename and delete a view of a list. */
import { uuidPattern } from '../../kernel/index.ts'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type FieldReader, page, readForm, seeOther } from '../kit/request.ts'
import type { Person, Routes } from './request.ts'
import { readFilters, refusedViewPage, savedPages } from './saved-views.ts'
import { texts } from './texts/index.ts'

function refusalText({ language }: ConsoleView, error: unknown): string {
  if (!(error instanceof Refusal) || error.code === 'not_found') throw error
  const s = texts[language].savedViews
  const [{ pointer, code } = { pointer: '', code: '' }] = error.errors
  if (pointer === '/query') return s.queryWrong
  if (code === 'exists') return s.nameTaken
  return code === 'out_of_range' ? s.tooMany : s.nameWrong
}

const readChangedView = (given: FieldReader) => ({ id: given('id'), name: given('name') })

export const savedViewRoutes: Routes = ({ savedViews, withPerson }) => {
  const refuse = (
    request: PublicRequest,
    { view }: Person,
    error: unknown,
    typed: Omit<Parameters<typeof refusedViewPage>[1], 'error'>,
  ) => page(request, 400, refusedViewPage(view, { ...typed, error: refusalText(view, error) }))
  const save = async (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const given = readForm(request)
    const list = savedPages.find((each) => each === given('page'))
    if (list === undefined) throw notFound('page')
    const saving = { page: list, query: readFilters(given('query')), name: given('name'), who: given('who') }
    const { who, ...view } = saving
    try {
      await savedViews.save(person, { ...view, isShared: who === 'team' }, request.ip)
      return seeOther(`../${list}?${view.query}`)
    } catch (error) {
      return refuse(request, person, error, { saving })
    }
  }
  const change = async (request: PublicRequest, person: Person, act: 'rename' | 'delete'): Promise<PublicAnswer> => {
    const changing = readChangedView(readForm(request))
    if (!uuidPattern.test(changing.id)) throw notFound('page')
    if (act === 'delete') return seeOther(`../${(await savedViews.remove(person, changing.id, request.ip)).page}`)
    try {
      const renamed = await savedViews.rename(person, changing.id, changing.name, request.ip)
      return seeOther(`../${renamed.page}?${renamed.query}`)
    } catch (error) {
      return refuse(request, person, error, { changing })
    }
  }
  const form = (name: string, act: (request: PublicRequest, person: Person) => Promise<PublicAnswer>): PublicRoute => ({
    method: 'POST',
    path: `/console/views/${name}`,
    handle: (request) => withPerson(request, (person) => act(request, person)),
  })
  return [
    form('save', save),
    form('rename', (request, person) => change(request, person, 'rename')),
    form('delete', (request, person) => change(request, person, 'delete')),
  ]
}
