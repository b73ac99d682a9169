/* The explorer as a tab of the host's dashboard: its page in a frame that can do nothing but ask, through us. */
(() => {
  'use strict';
  const SDK = window.__HERMES_PLUGIN_SDK__;
  if (!SDK || !window.__HERMES_PLUGINS__) return;
  const { createElement } = SDK.React;
  const { useEffect, useRef, useState } = SDK.hooks;
  const API = '/api/plugins/lcm';

  /* The frame is light or dark as the dashboard is, whatever the system's choice. */
  const scheme = () => {
    const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
    pen.fillStyle = getComputedStyle(document.body).color; // in whatever form a theme gives it
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
    return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? 'dark' : 'light';
  };

  const Explorer = () => {
    const frame = useRef(null);
    const [page, setPage] = useState('');
    const [wrong, setWrong] = useState('');

    useEffect(() => {
      SDK.fetchJSON(`${API}/page`).then((answer) => setPage(answer.page), (error) => setWrong(String(error.message || error)));
      const answer = async (event) => {
        const asked = event.data;
        if (!frame.current || event.source !== frame.current.contentWindow || !asked || typeof asked.lcm !== 'string') return;
        const said = { id: asked.id, scheme: scheme() };
        try {
          const query = new URLSearchParams(asked.parameters);
          said.answer = await SDK.fetchJSON(`${API}/ask/${encodeURIComponent(asked.lcm)}?${query}`);
        } catch (error) {
          said.error = String(error.message || error);
        }
        if (frame.current) frame.current.contentWindow.postMessage(said, '*'); // the frame has no origin to name
      };
      window.addEventListener('message', answer);
      return () => window.removeEventListener('message', answer);
    }, []);

    if (wrong) return createElement('p', { role: 'alert' }, wrong);
    return createElement('iframe', {
      ref: frame,
      srcDoc: page,
      sandbox: 'allow-scripts allow-forms',
      title: 'lcm: the conversation and its summaries',
      style: { width: '100%', height: '85vh', border: 0 },
    });
  };

  window.__HERMES_PLUGINS__.register('lcm', Explorer);
})();
