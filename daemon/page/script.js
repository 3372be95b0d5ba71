// The page is rendered by the daemon. This puts what has changed into its place.
'use strict';
{
  const link = document.getElementById('link');
  let heard = 0;
  let source = null;

  // morph makes the children of an element those of another, and keeps the nodes that stay: so the
  // focus, a selection and what is scrolled stay, and what moves can be seen to move.
  const morph = (old, now) => {
    if (old.childNodes.length !== now.childNodes.length) {
      old.replaceChildren(...now.childNodes);
      return;
    }
    [...now.childNodes].forEach((to, i) => {
      const from = old.childNodes[i];
      if (from.nodeName !== to.nodeName) {
        from.replaceWith(to);
      } else if (from.nodeType !== Node.ELEMENT_NODE) {
        if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      } else {
        for (const {name} of [...from.attributes]) {
          if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
        }
        for (const {name, value} of to.attributes) {
          if (from.getAttribute(name) !== value) from.setAttribute(name, value);
        }
        morph(from, to);
      }
    });
  };

  const say = (text, live) => {
    if (link.textContent !== text) link.textContent = text;
    link.classList.toggle('live', live);
  };

  const listen = () => {
    if (source || document.hidden) return;
    const mine = source = new EventSource('/page/events');
    source.onmessage = (event) => {
      const parts = JSON.parse(event.data);
      if (parts.assets && parts.assets !== document.documentElement.dataset.assets) {
        location.reload(); // the daemon is of another version now
        return;
      }
      delete parts.assets;
      for (const [id, html] of Object.entries(parts)) {
        const template = document.createElement('template');
        template.innerHTML = html;
        morph(document.getElementById(id), template.content);
      }
      heard = performance.now();
      say('live', true);
    };
    source.onerror = () => {
      if (mine.readyState !== EventSource.CLOSED) return; // it tries again by itself
      if (source === mine) source = null;
      setTimeout(listen, 5000);
    };
  };

  setInterval(() => {
    if (!document.hidden && performance.now() - heard > 4000) say('not connected: as of when it was heard last', false);
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden && source) {
      source.close();
      source = null;
    }
    heard = performance.now();
    listen();
  });
  heard = performance.now();
  say('connecting', false);
  listen();

  const form = document.getElementById('ask');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const query = '/?' + new URLSearchParams(new FormData(form));
    try {
      const reply = await fetch(query);
      if (!reply.ok) throw new Error(reply.statusText);
      const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
      morph(document.getElementById('apart'), page.getElementById('apart'));
      history.replaceState(null, '', query);
    } catch {
      form.submit();
    }
  });
  form.elements.id.addEventListener('paste', () => setTimeout(() => form.reportValidity() && form.requestSubmit()));
}
