/**
 * Starts swagger-ui. Without a validator, because its badge would send the URL to swagger.io. Without the "Authorize"
 * dialog, because it cannot sign.
 */
const root = document.getElementById('docs')
const canTry = root.dataset.try === 'on'
const trying = canTry ? await import('/docs/try.js') : undefined

const nothing = () => () => null
/** Webhooks are requests to the partner: nothing on this page can send them. Their name is no path. */
const onlyPaths = (allowed) => (state, path, method) => path.startsWith('/') && allowed(state, path, method)

const withoutDeadDialogs = () => ({
  wrapComponents: { authorizeBtn: nothing, authorizeOperationBtn: nothing },
  statePlugins: { spec: { wrapSelectors: { allowTryItOutFor: onlyPaths } } },
})

globalThis.SwaggerUIBundle({
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
  plugins: [withoutDeadDialogs],
  requestInterceptor: trying?.signInterceptor,
})
trying?.startTrying()
