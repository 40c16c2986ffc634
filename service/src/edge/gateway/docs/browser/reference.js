/**
 * Starts swagger-ui. Without a validator, because its badge would send the URL to swagger.io. Without the "Authorize"
 * dialog, because it cannot sign.
 */
const root = document.getElementById('docs')
const canTry = root.dataset.try === 'on'
const trying = canTry ? await import('/docs/try.js') : undefined

const nothing = () => () => null
/** Webhooks are requests to the partner, which this page cannot send. Their names are not paths. */
const onlyPaths = (allowed) => (state, path, method) => path.startsWith('/') && allowed(state, path, method)

/** Removes the security schemes, which only the hidden dialog needs. */
const withoutSecuritySchemes = (request) => (path) => (path.includes('securitySchemes') ? undefined : request(path))

const withoutDeadDialogs = () => ({
  wrapComponents: { authorizeBtn: nothing, authorizeOperationBtn: nothing },
  statePlugins: {
    spec: {
      wrapSelectors: { allowTryItOutFor: onlyPaths },
      wrapActions: { requestResolvedSubtree: withoutSecuritySchemes },
    },
  },
})

/** Calls `found` with the keys of each part of the document that a value refers to. */
function eachReference(value, found) {
  if (typeof value !== 'object' || value === null) return
  const { $ref: reference } = value
  if (typeof reference === 'string' && reference.startsWith('#/'))
    found(
      reference
        .slice(2)
        .split('/')
        .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')),
    )
  for (const each of Object.values(value)) eachReference(each, found)
}

/** Returns the document with a single path, webhook or component, and its references. */
function partOf({ paths, webhooks, components, ...part }, keys) {
  const whole = { paths, webhooks, components }
  const add = (wanted) => {
    const last = wanted.at(-1)
    let [from, to] = [whole, part]
    for (const key of wanted.slice(0, -1)) [from, to] = [from[key], (to[key] ??= {})]
    if (Object.hasOwn(to, last)) return
    to[last] = from[last]
    eachReference(from[last], add)
  }
  add(keys.slice(0, keys[0] === 'components' ? 3 : 2))
  return part
}

/**
 * swagger-ui normalises the whole document for each opened operation, which blocks the page for seconds. So it gets only the operation
 * and its references.
 */
const partByPart = ({ fn: { resolveSubtree } }) => ({
  fn: {
    resolveSubtree: (document, keys, options) => resolveSubtree(partOf(document, keys), keys, options),
  },
})

/**
 * Renders the operations tag by tag. In a list of 150 or more, swagger-ui keeps only the visible operations in the page, so that the
 * browser cannot search or print the others. The number is not a setting (5.35).
 */
const tagByTag = () => ({
  wrapComponents: {
    operations:
      (Operations, { React }) =>
      (props) => {
        const operations = props.specSelectors.taggedOperations()
        const ofTag = (tag) => ({
          ...props.specSelectors,
          taggedOperations: () => operations.filter((_, name) => name === tag),
        })
        const render = (tag) => React.createElement(Operations, { ...props, key: tag, specSelectors: ofTag(tag) })
        return React.createElement('div', null, ...operations.keySeq().toArray().map(render))
      },
  },
})

const ui = globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  showExtensions: false,
  supportedSubmitMethods: canTry ? ['get', 'post', 'put', 'patch', 'delete'] : [],
  tryItOutEnabled: false,
  validatorUrl: null,
  plugins: [withoutDeadDialogs, tagByTag, partByPart],
  requestInterceptor: trying?.signInterceptor,
})
trying?.startTrying((document) => ui.specActions.updateJsonSpec(document))
