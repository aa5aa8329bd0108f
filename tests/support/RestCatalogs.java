// SPDX-License-Identifier: Apache-2.0
//
// Iceberg's reference REST catalog, many of them in one process: the fixture's own server takes one catalog, and a
// process for each of a thousand tests would take longer than the tests. A catalog is made by
//   POST /_catalogs/NAME with its properties, one `key=value` a line, and dropped from memory by DELETE;
// its routes are those of the specification below /NAME. Run as `java -cp 'lib/*' RestCatalogs.java PORT`.

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.Closeable;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.gzip.GzipHandler;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

public class RestCatalogs extends HttpServlet {
  private record Served(Catalog catalog, RESTCatalogServlet servlet) {}

  private final Map<String, Served> catalogs = new ConcurrentHashMap<>();

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response)
      throws ServletException, IOException {
    String[] parts = request.getRequestURI().split("/", 3);
    String rest = parts.length > 2 ? parts[2] : "";
    if (parts[1].equals("_catalogs")) {
      administer(request.getMethod(), rest, request, response);
      return;
    }
    Served served = catalogs.get(parts[1]);
    if (served == null) {
      response.sendError(404, "no catalog called " + parts[1]);
      return;
    }
    served.servlet().service(
        new HttpServletRequestWrapper(request) {
          @Override
          public String getRequestURI() {
            return "/" + rest;
          }
        },
        response);
  }

  private void administer(
      String method, String name, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Served old = catalogs.remove(name);
    if (old != null && old.catalog() instanceof Closeable closeable) {
      closeable.close();
    }
    if (method.equals("POST")) {
      Map<String, String> properties = new HashMap<>();
      request.getReader().lines().filter(line -> line.contains("=")).forEach(line -> {
        String[] pair = line.split("=", 2);
        properties.put(pair[0], pair[1]);
      });
      Catalog catalog = CatalogUtil.buildIcebergCatalog("rest_backend", properties, new Configuration());
      catalogs.put(name, new Served(catalog, new RESTCatalogServlet(new RESTCatalogAdapter(catalog))));
    }
    response.setStatus(204);
  }

  public static void main(String[] arguments) throws Exception {
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RestCatalogs()), "/*");
    context.insertHandler(new GzipHandler());
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(arguments[0]));
    server.addConnector(connector);
    server.setHandler(context);
    server.start();
    server.join();
  }
}
